// Accuracies of Weka's Decorate and Grading in repeated ten-fold cross-validation, as JSON lines on standard output.
// Run by make_fixtures.py as a source file.

import java.io.FileReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import weka.classifiers.Classifier;
import weka.classifiers.Evaluation;
import weka.classifiers.bayes.NaiveBayes;
import weka.classifiers.lazy.IBk;
import weka.classifiers.meta.Decorate;
import weka.classifiers.meta.Grading;
import weka.core.Instances;
import weka.core.Version;

public class Weka {
    static final int REPEATS = 8;

    static String accuracies(Classifier model, Instances rows) throws Exception {
        List<String> found = new ArrayList<>();
        for (int seed = 1; seed <= REPEATS; seed++) {
            Evaluation evaluation = new Evaluation(rows);
            Classifier copy = Classifier.makeCopy(model);
            if (copy instanceof Decorate) ((Decorate) copy).setSeed(seed);
            if (copy instanceof Grading) ((Grading) copy).setSeed(seed);
            evaluation.crossValidateModel(copy, rows, 10, new Random(seed));
            found.add(Double.toString(evaluation.correct() / evaluation.numInstances()));
        }
        return "[" + String.join(",", found) + "]";
    }

    static Decorate decorate(Classifier base) {
        Decorate model = new Decorate();
        model.setClassifier(base);
        model.setDesiredSize(6);
        model.setNumIterations(12);
        model.setArtificialSize(1.0);
        return model;
    }

    static Grading grading() throws Exception {
        Grading model = new Grading();
        model.setClassifiers(new Classifier[] {new NaiveBayes(), new IBk(3), new IBk(15)});
        model.setMetaClassifier(new IBk(10));
        model.setNumFolds(10);
        return model;
    }

    public static void main(String[] paths) throws Exception {
        System.out.println("{\"made_by\": \"Weka " + Version.VERSION + "\"}");
        for (String path : paths) {
            Instances rows = new Instances(new FileReader(path));
            rows.setClassIndex(rows.numAttributes() - 1);
            System.out.println(
                "{\"bayes\": " + accuracies(new NaiveBayes(), rows)
                + ", \"near\": " + accuracies(new IBk(3), rows)
                + ", \"decorate bayes\": " + accuracies(decorate(new NaiveBayes()), rows)
                + ", \"decorate near\": " + accuracies(decorate(new IBk(3)), rows)
                + ", \"grading\": " + accuracies(grading(), rows) + "}");
        }
    }
}
