import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.DummySnapshot;
import org.apache.spark.sql.delta.actions.Action$;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of chosen files of a Delta table, with the schema and the features that its log tells:
 * neither the log nor the state of a version is read, which takes Spark jobs. Janino compiles this,
 * as PlanSurvey.java.
 */
public final class TableFiles {
  /** `told` is JSON: actions by their kinds, "metaData" and "protocol", and a list of "add". */
  public static Object rows(Object log, String told) throws Exception {
    DeltaLog table = (DeltaLog) log;
    JsonNode each = new ObjectMapper().readTree(told);
    Metadata metadata = (Metadata) action("metaData", (JsonNode) each.get("metaData"));
    Protocol protocol = (Protocol) action("protocol", (JsonNode) each.get("protocol"));
    DummySnapshot snapshot =
        new DummySnapshot(
            table.logPath(), table, metadata, Option.empty(), Option.apply(protocol));
    JsonNode adds = (JsonNode) each.get("add");
    List files = new ArrayList(adds.size());
    for (int i = 0; i < adds.size(); i++) {
      files.add(action("add", (JsonNode) adds.get(i)));
    }
    Seq chosen = CollectionConverters.asScala(files).toSeq();
    return table.createDataFrame(snapshot, chosen, false, Option.empty());
  }

  private static Object action(String kind, JsonNode body) {
    return Action$.MODULE$.fromJson("{\"" + kind + "\":" + body.toString() + "}");
  }
}
