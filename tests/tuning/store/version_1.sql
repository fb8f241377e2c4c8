BEGIN TRANSACTION;
CREATE TABLE blocks (
	id INTEGER NOT NULL, 
	study_id INTEGER NOT NULL, 
	first_trial INTEGER NOT NULL, 
	stage INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	trials TEXT NOT NULL, 
	split INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	lease INTEGER NOT NULL, 
	holder TEXT NOT NULL, 
	expires FLOAT NOT NULL, 
	result TEXT, 
	answers BLOB, 
	PRIMARY KEY (id), 
	UNIQUE (study_id, first_trial, stage, number), 
	FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "blocks" VALUES(1,1,0,0,0,'[0, 1, 2]',0,'done',1,'host 1 8f5639c1',1.7949698613314285278e+09,'{"scores": {"score": [[0.92], [0.92], [0.92]]}, "train_scores": {}, "seconds": 9.839410690000022, "fits": 1, "failed": [], "unscored": [], "train_unscored": []}',NULL);
INSERT INTO "blocks" VALUES(2,1,0,0,1,'[0, 1, 2]',1,'done',1,'host 1 8f5639c1',1.79496988094752860064e+09,'{"scores": {"score": [[0.96], [0.96], [0.96]]}, "train_scores": {}, "seconds": 0.0009150070000032429, "fits": 1, "failed": [], "unscored": [], "train_unscored": []}',NULL);
CREATE TABLE foldwise_store (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "foldwise_store" VALUES(1);
CREATE TABLE proposals (
	study_id INTEGER NOT NULL, 
	first_trial INTEGER NOT NULL, 
	settings TEXT NOT NULL, 
	PRIMARY KEY (study_id, first_trial), 
	FOREIGN KEY(study_id) REFERENCES studies (id)
);
INSERT INTO "proposals" VALUES(1,0,'[{"var_floor": 1e-09}, {"var_floor": 0.10177687723142177}, {"var_floor": 5.338464419899667e-09}]');
CREATE TABLE studies (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	training_rows TEXT NOT NULL, 
	fixed_parts TEXT NOT NULL, 
	description TEXT NOT NULL, 
	seed BIGINT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name, training_rows)
);
INSERT INTO "studies" VALUES(1,'iris','a0d78ef99522c687daf96d19c6231d8b','{"estimator": "e3ec1950da24a14d4e4783c635c44cac", "space": "dcbbf8b0318991a3a96c01e7b292c51a", "cv": "9a122abb442ee12e7cfaa255c7509ef4", "scoring": "0492b02168483617a8dad7ff334d5a19", "strategy": "e2260430f5ac8d9c46125e8d831bb23a"}','{"estimator": "NaiveBayes()", "metric": "score", "metrics": ["score"], "n_splits": 2, "strategy": "Random"}',0,1.79496983128638100618e+09);
COMMIT;
