// What Weka's corrected paired t-test says of lines of numbers, as JSON lines. Run by make_fixtures.py as a source file.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import weka.core.Version;
import weka.experiment.PairedStatsCorrected;

public class Corrected {
    // each line of input: test rows to training rows, then the scores of the first and of the second model in turn
    public static void main(String[] none) throws Exception {
        System.out.println("{\"made_by\": \"Weka " + Version.VERSION + "\"}");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] cells = line.trim().split(" ");
            PairedStatsCorrected stats = new PairedStatsCorrected(0.05, Double.parseDouble(cells[0]));
            for (int i = 1; i < cells.length; i += 2) {
                stats.add(Double.parseDouble(cells[i]), Double.parseDouble(cells[i + 1]));
            }
            stats.calculateDerived();
            System.out.println(
                "{\"difference\": " + stats.differencesStats.mean
                + ", \"p\": " + stats.differencesProbability
                + ", \"verdict\": " + stats.differencesSignificance + "}");
        }
    }
}
