import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.ExpressionWithUnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.Literal;
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
 * of that node ("" for a child), {field: [schema, name]}, [fields that are true], whether it is a
 * command].
 *
 * Options are the keys of what functions, relations, tables and writes are given as options. Spark
 * evaluates some while it analyses, so they are told of a parsed call too: the keys of each map()
 * among the arguments, but the first, of what converts a text or says its schema, and of a function
 * that IDENTIFIER names. A key that is no constant is "?".
 */
public final class PlanSurvey {
  private final StringBuilder nodes = new StringBuilder("[");
  private final Set classes = new TreeSet();
  private final Set options = new TreeSet();
  private boolean acts = false;
  private int count = 0;

  /** Of a plan, parsed or analysed. */
  public static String of(Object plan) {
    PlanSurvey survey = new PlanSurvey();
    survey.node((LogicalPlan) plan, -1, "");
    StringBuilder out = new StringBuilder("{\"nodes\":").append(survey.nodes).append("],");
    out.append("\"acts\":").append(survey.acts);
    texts(out.append(",\"classes\":"), survey.classes);
    texts(out.append(",\"options\":"), survey.options);
    return out.append('}').toString();
  }

  private static void texts(StringBuilder out, Set values) {
    String separator = "[";
    for (java.util.Iterator each = values.iterator(); each.hasNext(); separator = ",") {
      text(out.append(separator), (String) each.next());
    }
    out.append(values.isEmpty() ? "[]" : "]");
  }

  private void node(LogicalPlan plan, int up, String field) {
    int place = count++;
    String kind = nameOf(plan);
    classes.add(kind);
    boolean command = plan instanceof Command || plan instanceof ParsedStatement;
    acts |= command;
    text(nodes.append(place == 0 ? "[" : ",["), kind);
    text(nodes.append(',').append(up).append(','), field);
    described((Product) plan);
    nodes.append(',').append(command).append(']');
    optioned((Product) plan);
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
      optioned((Product) value);
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

  /** The keys of the options among the fields of a node or an expression. */
  private void optioned(Product node) {
    if (node instanceof UnresolvedFunction && converts((UnresolvedFunction) node)) {
      called(((UnresolvedFunction) node).arguments());
    } else if (node instanceof ExpressionWithUnresolvedIdentifier) {
      called(((TreeNode) node).children()); // the first is the name
    }
    for (int i = 0; i < node.productArity(); i++) {
      Object value = node.productElement(i);
      if (value instanceof Option && ((Option) value).isDefined()) {
        value = ((Option) value).get();
      }
      String field = node.productElementName(i).toLowerCase();
      if (field.endsWith("options") || field.equals("serdeproperties")) {
        keys(value, "");
      } else if (field.equals("properties")) {
        keys(value, "option.");
      }
    }
  }

  /** The keys of a map that begin so, without what they begin with. */
  private void keys(Object value, String prefix) {
    if (value instanceof java.util.Map) {
      java.util.Iterator each = ((java.util.Map) value).keySet().iterator();
      while (each.hasNext()) {
        key(each.next(), prefix);
      }
    } else if (value instanceof Iterable) {
      for (Iterator each = ((Iterable) value).iterator(); each.hasNext(); ) {
        Object pair = each.next();
        if (pair instanceof Product && pair.getClass().getName().startsWith("scala.Tuple")) {
          key(((Product) pair).productElement(0), prefix);
        }
      }
    }
  }

  private void key(Object key, String prefix) {
    if (key instanceof String && ((String) key).startsWith(prefix)) {
      options.add(((String) key).substring(prefix.length()));
    }
  }

  private boolean converts(UnresolvedFunction call) {
    String name = lastName(call);
    if (name.endsWith("_protobuf")) {
      options.add("descFilePath");
    }
    return name.startsWith("from_") || name.startsWith("to_") || name.startsWith("schema_of_");
  }

  private static String lastName(UnresolvedFunction call) {
    return ((String) call.nameParts().last()).toLowerCase();
  }

  /** The arguments of a call that may have options. */
  private void called(scala.collection.Seq arguments) {
    for (int i = 1; i < arguments.size(); i++) {
      mapped((TreeNode) arguments.apply(i));
    }
  }

  private void mapped(TreeNode argument) {
    if (argument instanceof UnresolvedFunction) {
      UnresolvedFunction call = (UnresolvedFunction) argument;
      if (lastName(call).equals("map")) {
        for (int i = 0; i < call.arguments().size(); i += 2) {
          options.add(constant(call.arguments().apply(i)));
        }
      }
    } else if (argument instanceof ExpressionWithUnresolvedIdentifier) {
      options.add("?");
    }
    for (int i = 0; i < argument.children().size(); i++) {
      mapped((TreeNode) argument.children().apply(i));
    }
  }

  private static String constant(Object key) {
    Object value = key instanceof Literal ? ((Literal) key).value() : null;
    return value == null ? "?" : value.toString();
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
