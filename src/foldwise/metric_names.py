"""How scikit-learn's functions, Weka and others call the metrics, to name the one that was probably meant."""

from __future__ import annotations

METRICS_ELSEWHERE = {
    **dict.fromkeys(("accuracy_score", "acc", "percent_correct", "correctly_classified"), "accuracy"),
    **dict.fromkeys(("area_under_roc", "auroc", "roc", "rocauc", "roc_auc_score"), "roc_auc"),
    **dict.fromkeys(("cross_entropy", "crossentropy", "deviance", "logloss", "neg_logloss"), "log_loss"),
    **dict.fromkeys(("f1_score", "f_measure", "f_score"), "f1"),
    **dict.fromkeys(("mcc", "matthews"), "matthews_corrcoef"),
    **dict.fromkeys(("r_squared", "r2_score", "rsquared"), "r2"),
}
