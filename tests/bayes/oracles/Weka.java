// What Weka answers on tables in ARFF files, as JSON lines on standard output. Run by make_fixtures.py as a source file.

import java.io.FileReader;
import java.util.ArrayList;
import java.util.List;
import weka.classifiers.bayes.NaiveBayes;
import weka.core.Instances;
import weka.core.Version;
import weka.filters.supervised.attribute.Discretize;

public class Weka {
    static Instances read(String path) throws Exception {
        Instances rows = new Instances(new FileReader(path));
        rows.setClassIndex(rows.numAttributes() - 1);
        return rows;
    }

    static String numbers(double[] values) {
        List<String> text = new ArrayList<>();
        for (double value : values) text.add(Double.toString(value));
        return "[" + String.join(",", text) + "]";
    }

    static String answers(Instances train, Instances rows, boolean discretized) throws Exception {
        NaiveBayes model = new NaiveBayes();
        model.setUseSupervisedDiscretization(discretized);
        model.buildClassifier(train);
        List<String> text = new ArrayList<>();
        for (int i = 0; i < rows.numInstances(); i++) text.add(numbers(model.distributionForInstance(rows.instance(i))));
        return "[" + String.join(",", text) + "]";
    }

    static String cuts(Instances train) throws Exception {
        Discretize filter = new Discretize();
        filter.setInputFormat(train);
        for (int i = 0; i < train.numInstances(); i++) filter.input(train.instance(i));
        filter.batchFinished();
        List<String> text = new ArrayList<>();
        for (int j = 0; j < train.numAttributes() - 1; j++) {
            double[] points = train.attribute(j).isNumeric() ? filter.getCutPoints(j) : null;
            text.add(numbers(points == null ? new double[0] : points));
        }
        return "[" + String.join(",", text) + "]";
    }

    // arguments: training rows and new rows of one table, then of the next
    public static void main(String[] paths) throws Exception {
        System.out.println("{\"made_by\": \"Weka " + Version.VERSION + "\"}");
        for (int i = 0; i < paths.length; i += 2) {
            Instances train = read(paths[i]), rows = read(paths[i + 1]);
            System.out.println(
                "{\"proba\": " + answers(train, rows, false)
                + ", \"discretized\": " + answers(train, rows, true)
                + ", \"cuts\": " + cuts(train) + "}");
        }
    }
}
