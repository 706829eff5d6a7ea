import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * What plan_reads.py reads of a plan, as JSON, in one call.
 *
 * It looks into every field of every node and expression, as TreeNode.toJSON does, which also
 * writes out the whole description of each table, and takes 40 ms where there is a view. Janino,
 * by which Spark compiles its queries, compiles this: it knows no generics.
 *
 * Nodes are in the order of a walk from the root, each as [class, place of the node above it, field
 * of that node ("" for a child), {field: [schema, name]}, [fields that are true]].
 */
public final class PlanSurvey {
  private final StringBuilder nodes = new StringBuilder("[");
  private final Set classes = new TreeSet();
  private boolean acts = false;
  private int count = 0;

  /** Of a plan, parsed or analysed. */
  public static String of(Object plan) {
    PlanSurvey survey = new PlanSurvey();
    survey.node((LogicalPlan) plan, -1, "");
    StringBuilder out = new StringBuilder("{\"nodes\":").append(survey.nodes).append("],");
    out.append("\"acts\":").append(survey.acts).append(",\"classes\":[");
    String separator = "";
    for (java.util.Iterator each = survey.classes.iterator(); each.hasNext(); separator = ",") {
      text(out.append(separator), (String) each.next());
    }
    return out.append("]}").toString();
  }

  private void node(LogicalPlan plan, int up, String field) {
    int place = count++;
    String kind = nameOf(plan);
    classes.add(kind);
    acts |= plan instanceof Command || plan instanceof ParsedStatement;
    text(nodes.append(place == 0 ? "[" : ",["), kind);
    text(nodes.append(',').append(up).append(','), field);
    described((Product) plan);
    nodes.append(']');
    Set seen = Collections.newSetFromMap(new IdentityHashMap());
    List children = new ArrayList();
    gather(plan.children(), children, seen);
    below((Product) plan, place, seen);
    each(children, place, "");
    List inner = new ArrayList();
    gather(plan.innerChildren(), inner, seen);
    each(inner, place, "innerChildren");
  }

  /** The names and the flags among a node's fields. */
  private void described(Product plan) {
    StringBuilder names = new StringBuilder(), flags = new StringBuilder();
    for (int i = 0; i < plan.productArity(); i++) {
      Object value = plan.productElement(i);
      if (value instanceof Option && ((Option) value).isDefined()) {
        value = ((Option) value).get();
      }
      if (value instanceof CatalogTable) {
        value = ((CatalogTable) value).identifier();
      }
      if (value instanceof TableIdentifier) {
        TableIdentifier name = (TableIdentifier) value;
        text(names.append(names.length() == 0 ? "" : ","), plan.productElementName(i));
        text(names.append(":["), name.database().isDefined() ? (String) name.database().get() : "");
        text(names.append(','), name.table());
        names.append(']');
      } else if (Boolean.TRUE.equals(value)) {
        text(flags.append(flags.length() == 0 ? "" : ","), plan.productElementName(i));
      }
    }
    nodes.append(",{").append(names).append("},[").append(flags).append(']');
  }

  /** The plans in a node's fields that are not its children. */
  private void below(Product plan, int place, Set seen) {
    if (plan instanceof LocalRelation) {
      return; // it has rows
    }
    for (int i = 0; i < plan.productArity(); i++) {
      List found = new ArrayList();
      gather(plan.productElement(i), found, seen);
      each(found, place, plan.productElementName(i));
    }
  }

  private void each(List plans, int up, String field) {
    for (int i = 0; i < plans.size(); i++) {
      node((LogicalPlan) plans.get(i), up, field);
    }
  }

  /** The plans in a value: itself, those of a list or a pair, those within an expression. */
  private void gather(Object value, List found, Set seen) {
    if (value instanceof LogicalPlan) {
      if (seen.add(value)) {
        found.add(value);
      }
    } else if (value instanceof TreeNode) {
      classes.add(nameOf(value));
      gatherAll(((Product) value).productIterator(), found, seen);
    } else if (value instanceof Option) {
      gatherAll(((Option) value).iterator(), found, seen);
    } else if (value instanceof Iterable && !(value instanceof DataType)) {
      gatherAll(((Iterable) value).iterator(), found, seen);
    } else if (value instanceof Product && value.getClass().getName().startsWith("scala.Tuple")) {
      gatherAll(((Product) value).productIterator(), found, seen);
    }
  }

  private void gatherAll(Iterator values, List found, Set seen) {
    while (values.hasNext()) {
      gather(values.next(), found, seen);
    }
  }

  private static String nameOf(Object node) {
    String name = node.getClass().getName();
    return name.substring(name.lastIndexOf('.') + 1);
  }

  private static void text(StringBuilder out, String value) {
    out.append('"');
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '"' || c == '\\' || c < ' ' || Character.isSurrogate(c)) {
        out.append(String.format("\\u%04x", new Object[] {Integer.valueOf(c)}));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
