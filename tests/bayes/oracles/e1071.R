# What e1071::naiveBayes answers on mixed tables with missing cells, as JSON on standard output. Run by make_fixtures.py.

suppressMessages(library(e1071))
set.seed(20)

# JSON by hand: base R has no writer. Numbers with 17 digits are the same doubles when read again.
quoted <- function(x) ifelse(is.na(x), "null", paste0('"', x, '"'))
number <- function(x) ifelse(is.finite(x), sprintf("%.17g", x), "null")
several <- function(x) paste0("[", paste(x, collapse = ","), "]")
object <- function(x) paste0("{", paste(paste0('"', names(x), '":', unlist(x)), collapse = ","), "}")

column <- function(x) {
  if (is.numeric(x)) return(object(list(kind = '"numeric"', cells = several(number(x)))))
  if (is.logical(x)) return(object(list(kind = '"logical"', cells = several(ifelse(is.na(x), "null", tolower(x))))))
  object(list(kind = '"categorical"', levels = several(quoted(levels(x))), cells = several(quoted(as.character(x)))))
}
columns <- function(X) object(lapply(X, column))

answer <- function(X, y, new, laplace, threshold) {
  model <- naiveBayes(X, y, laplace = laplace)
  raw <- predict(model, new, type = "raw", threshold = threshold)
  label <- as.character(predict(model, new, threshold = threshold))
  object(list(
    laplace = laplace, threshold = number(threshold), label = several(quoted(label)),
    proba = several(apply(raw, 1, function(p) several(number(p))))
  ))
}

# 1e-300 in place of e1071's 0.001 for what has the probability 0: as good as the 0 it stands for
table_of <- function(X, y, new, thresholds = c(1e-300, 0.001)) {
  y <- factor(y)
  answers <- c()
  for (laplace in 0:1) for (threshold in thresholds) answers <- c(answers, answer(X, y, new, laplace, threshold))
  object(list(
    X = columns(X), y = several(quoted(as.character(y))), new = columns(new),
    classes = several(quoted(levels(y))), answers = several(answers)
  ))
}

punch <- function(X, share) {
  for (name in names(X)) X[[name]][runif(nrow(X)) < share] <- NA
  X
}

tables <- list()

# iris: numbers only
rows <- sample(nrow(iris), 70)
X <- punch(iris[rows, 1:4], 0.12)
tables$iris <- table_of(X[1:50, ], iris$Species[rows[1:50]], X[41:70, ])

# infert: numbers and factors
some <- infert[sample(nrow(infert), 110), ]
X <- with(some, data.frame(education, age, parity, induced = factor(induced), spontaneous = factor(spontaneous)))
X <- punch(X, 0.12)
tables$infert <- table_of(X[1:80, ], c("control", "case")[some$case[1:80] + 1], X[71:110, ])

# made: a level that no row has, truth values, whole numbers, small classes, new rows with a level never declared
n <- 90
y <- sample(c("a", "b", "c"), n, TRUE, c(0.6, 0.3, 0.1))
k <- match(y, c("a", "b", "c"))
X <- data.frame(
  colour = factor(c("red", "green", "blue")[pmin(3, 1 + rbinom(n, 2, k / 4))], c("red", "green", "blue", "violet")),
  member = runif(n) < c(0.7, 0.4, 0.2)[k],
  size = rnorm(n, 3 * k, 2),
  rings = rpois(n, 2 * k)
)
X <- punch(X, 0.15)
new <- X[c(1:6, 61:90), ]
new$colour <- as.character(new$colour)
new$colour[c(1, 9)] <- "ultraviolet"
new[2, ] <- NA
new$colour <- factor(new$colour)
tables$made <- table_of(X[1:60, ], y[1:60], new)

# where the definitions part: a density that underflows, a class with one value, a class with one cell
X <- data.frame(v = c(rnorm(10), rnorm(10, 1, 2)), w = c(rnorm(10), rnorm(10, 1, 1)))
tables$far <- table_of(X, rep(c("a", "b"), each = 10), data.frame(v = c(0, 60, 200), w = c(0.5, 0.5, 0.5)), 0.001)
X <- data.frame(v = c(rep(2, 8), rnorm(8, 2, 0.002)))
tables$flat <- table_of(X, rep(c("a", "b"), each = 8), data.frame(v = c(2, 2.001, 2.003)), 0.001)
X <- data.frame(v = c(1.5, rep(NA, 7), rnorm(8)), w = rnorm(16))
tables$lonely <- table_of(X, rep(c("a", "b"), each = 8), data.frame(v = c(1.5, NA), w = c(0, 0)), 0.001)

made_by <- paste0("R ", getRversion(), ", e1071 ", packageVersion("e1071"))
cat(object(list(made_by = quoted(made_by), tables = object(tables))), "\n")
