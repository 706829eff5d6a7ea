import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.RelationChanges;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStarExceptOrReplace;
import org.apache.spark.sql.catalyst.analysis.UnresolvedSubqueryColumnAliases;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedWith;
import scala.Option;
import scala.Tuple3;
import scala.collection.Seq;

/**
 * The relations that a plan of Spark's parser names, without references to common table expressions
 * by Spark's rules of scope: a line for each, of where its place begins and ends in the text, whether
 * it is read at a time of its own, whether it has an alias, and the parts of its name in base
 * 64, by tabs.
 */
public final class NamedRelations {
  private final StringBuilder lines = new StringBuilder();

  public static String of(Object plan) {
    NamedRelations found = new NamedRelations();
    found.walk((LogicalPlan) plan, new HashSet(), false, false);
    return found.lines.toString();
  }

  private void walk(LogicalPlan plan, Set common, boolean fixed, boolean aliased) {
    if (plan instanceof UnresolvedWith) {
      walkWith((UnresolvedWith) plan, common);
      return;
    }
    if (plan instanceof UnresolvedRelation) {
      name((UnresolvedRelation) plan, common, fixed, aliased);
    } else if (plan instanceof RelationTimeTravel) {
      RelationTimeTravel travel = (RelationTimeTravel) plan;
      walk((LogicalPlan) travel.relation(), common, true, aliased);
      if (travel.timestamp().isDefined()) {
        queries((Expression) travel.timestamp().get(), common);
      }
    } else if (plan instanceof RelationChanges) {
      walk((LogicalPlan) ((RelationChanges) plan).relation(), common, true, aliased);
    }
    Seq expressions = plan.expressions();
    for (int i = 0; i < expressions.size(); i++) {
      queries((Expression) expressions.apply(i), common);
    }
    Seq children = plan.children();
    for (int i = 0; i < children.size(); i++) {
      boolean named = aliased && plan instanceof UnresolvedSubqueryColumnAliases;
      walk((LogicalPlan) children.apply(i), common, false, named || plan instanceof SubqueryAlias);
    }
  }

  private void walkWith(UnresolvedWith with, Set around) {
    Set common = new HashSet(around);
    Seq definitions = with.cteRelations();
    for (int i = 0; i < definitions.size(); i++) {
      Tuple3 definition = (Tuple3) definitions.apply(i);
      String name = ((String) definition._1()).toLowerCase(Locale.ROOT);
      if (with.allowRecursion()) {
        common.add(name);
      }
      walk((LogicalPlan) ((SubqueryAlias) definition._2()).child(), common, false, false);
      common.add(name);
    }
    walk(with.child(), common, false, false);
  }

  private void queries(Expression expression, Set common) {
    if (expression instanceof PlanExpression) {
      walk((LogicalPlan) ((PlanExpression) expression).plan(), common, false, false);
    }
    if (expression instanceof UnresolvedStarExceptOrReplace) {  // those of SET are no children of it
      Option set = ((UnresolvedStarExceptOrReplace) expression).replacements();
      for (int i = 0; set.isDefined() && i < ((Seq) set.get()).size(); i++) {
        queries((Expression) ((Seq) set.get()).apply(i), common);
      }
    }
    Seq children = expression.children();
    for (int i = 0; i < children.size(); i++) {
      queries((Expression) children.apply(i), common);
    }
  }

  private void name(UnresolvedRelation of, Set common, boolean fixed, boolean aliased) {
    Seq parts = of.multipartIdentifier();
    String first = ((String) parts.apply(0)).toLowerCase(Locale.ROOT);
    if (parts.size() == 1 && common.contains(first)) {
      return;
    }
    lines.append(at(of.origin().startIndex())).append('\t').append(at(of.origin().stopIndex()));
    lines.append('\t').append(fixed).append('\t').append(aliased);
    for (int i = 0; i < parts.size(); i++) {
      byte[] part = ((String) parts.apply(i)).getBytes(StandardCharsets.UTF_8);
      lines.append('\t').append(Base64.getEncoder().encodeToString(part));
    }
    lines.append('\n');
  }

  private static int at(Option index) {
    return index.isDefined() ? ((Integer) index.get()).intValue() : -1;
  }
}
