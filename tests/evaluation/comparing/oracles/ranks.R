# What R says of a table of scores (a CSV file, tables by models): Friedman, Wilcoxon, Holm, Nemenyi. As JSON.

scores <- as.matrix(read.csv(commandArgs(trailingOnly = TRUE)[1], row.names = 1, check.names = FALSE))
number <- function(x) paste0("[", paste(format(x, digits = 17, trim = TRUE), collapse = ","), "]")

n <- nrow(scores)
k <- ncol(scores)
friedman <- friedman.test(scores)
ranks <- colMeans(t(apply(-scores, 1, rank)))
pairs <- combn(k, 2)
wilcoxon <- apply(pairs, 2, function(ij) {
  d <- scores[, ij[1]] - scores[, ij[2]]
  wilcox.test(d[d != 0], exact = FALSE, correct = FALSE)$p.value
})
plain <- apply(pairs, 2, function(ij) t.test(scores[, ij[1]], scores[, ij[2]], paired = TRUE)$p.value)
q <- apply(pairs, 2, function(ij) abs(ranks[ij[1]] - ranks[ij[2]]) * sqrt(2) / sqrt(k * (k + 1) / (6 * n)))

cat(sprintf(
  '{"made_by": "%s", "chi2": %s, "p": %s, "ranks": %s, "wilcoxon_without_zeros": %s, "t": %s, "holm": %s,
  "nemenyi": %s, "critical": %s}',
  R.version.string, number(friedman$statistic), number(friedman$p.value), number(ranks), number(wilcoxon),
  number(plain), number(p.adjust(plain, "holm")), number(ptukey(q, k, Inf, lower.tail = FALSE)),
  number(qtukey(0.95, k, Inf) / sqrt(2) * sqrt(k * (k + 1) / (6 * n)))
))
