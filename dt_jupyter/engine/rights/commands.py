"""What each command of Spark and Delta needs, by the class of its analysed plan. The table is
closed: a command that is not in it is open to admin alone, and a test fails until it is.

Source: the classes under `Command` and `ParsedStatement` in the jars of Spark 4.2 and Delta 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from dt_jupyter.model import Right


class CommandNeed(StrEnum):
    """What a command requires of the role, in addition to SELECT on all that its plan reads."""

    OPEN = "nothing more"
    LISTS = "nothing more: its rows are those that the role sees"
    SEES = "any right on the function that it describes"
    READS = "SELECT on its target"
    WRITES = "the rights of COMMAND_WRITES on its target"
    MAKES = "CREATE on the schema; OWNERSHIP of what it replaces"
    OWNS = "OWNERSHIP of its target, a relation or a schema"
    ADMIN = "admin"


COMMAND_WRITES: Mapping[str, tuple[Right, ...]] = {
    "AppendData": (Right.INSERT,),
    "DeleteCommand": (Right.DELETE,),
    "DeltaDynamicPartitionOverwriteCommand": (Right.INSERT, Right.DELETE),
    "InsertIntoDataSourceCommand": (Right.INSERT, Right.DELETE),
    "InsertIntoHadoopFsRelationCommand": (Right.INSERT, Right.DELETE),
    "MergeIntoCommand": (),  # by its clauses
    "OverwriteByExpression": (Right.INSERT, Right.DELETE),
    "OverwritePartitionsDynamic": (Right.INSERT, Right.DELETE),
    "TruncateDeltaTableCommand": (Right.DELETE,),
    "TruncateTable": (Right.DELETE,),
    "TruncateTableCommand": (Right.DELETE,),
    "TruncatePartition": (Right.DELETE,),
    "UpdateCommand": (Right.UPDATE,),
}
_OPEN = """
CacheTable CacheTableAsSelect CreateNamespace CreateSQLFunctionCommand CreateVariable
DescribeQueryCommand DropTempViewCommand DropVariable
ExplainCommand NoopCommand ResetCommand SetCatalogAndNamespace SetCatalogCommand SetCommand
SetNamespaceCommand SetVariable ShowCatalogsCommand ShowCollationsCommand
ShowCurrentNamespaceCommand ShowFunctions ShowFunctionsCommand ShowNamespacesCommand
"""
_SEES = "DescribeFunction DescribeFunctionCommand"
_LISTS = "ShowTables ShowTablesCommand ShowTablesExtended ShowViews ShowViewsCommand"
_READS = """
DescribeColumn DescribeColumnCommand DescribeDeltaDetailCommand DescribeDeltaHistoryCommand
DescribeRelation DescribeRelationJsonCommand DescribeTableCommand DescribeTablePartition
RefreshTable RefreshTableCommand ShowColumns ShowColumnsCommand ShowCreateTable
ShowCreateTableAsSerdeCommand ShowCreateTableCommand ShowDeltaPartitionsCommand
ShowDeltaTableColumnsCommand ShowPartitions ShowPartitionsCommand ShowTablePartition
ShowTableProperties ShowTablePropertiesCommand UncacheTable
"""
_MAKES = """
CreateDataSourceTableAsSelectCommand CreateDataSourceTableCommand CreateDeltaTableCommand
CreateTable CreateTableAsSelect CreateTableLike CreateTableLikeCommand CreateTempViewUsing
CreateView CreateViewCommand ReplaceTable ReplaceTableAsSelect
"""
_OWNS = """
AddCheckConstraint AddColumns AddConstraint AddPartitions AlterColumnSyncIdentity AlterColumns
AlterDatabasePropertiesCommand AlterDatabaseSetLocationCommand AlterTableAddColumnsCommand
AlterTableAddColumnsDeltaCommand AlterTableAddConstraint AlterTableAddConstraintDeltaCommand
AlterTableAddPartitionCommand AlterTableChangeColumnCommand AlterTableChangeColumnDeltaCommand
AlterTableClusterBy AlterTableClusterByDeltaCommand AlterTableCollation
AlterTableDropColumnsDeltaCommand AlterTableDropConstraint AlterTableDropConstraintDeltaCommand
AlterTableDropFeature AlterTableDropFeatureDeltaCommand AlterTableDropPartitionCommand
AlterTableRenameCommand AlterTableRenamePartitionCommand AlterTableReplaceColumnsDeltaCommand
AlterTableSerDePropertiesCommand AlterTableSetLocationCommand AlterTableSetLocationDeltaCommand
AlterTableSetPropertiesCommand AlterTableSetPropertiesDeltaCommand
AlterTableUnsetPropertiesCommand AlterTableUnsetPropertiesDeltaCommand AlterViewAs
AlterViewAsCommand AlterViewSchemaBinding AlterViewSchemaBindingCommand AnalyzeColumn
AnalyzeColumnCommand AnalyzePartitionCommand AnalyzeTable AnalyzeTableCommand CommentOnNamespace
CommentOnTable CreateIndex DeltaGenerateCommand DeltaReorgTable DeltaReorgTableCommand
DescribeDatabaseCommand DescribeNamespace DropColumns DropConstraint DropDatabaseCommand DropIndex
DropNamespace DropPartitions DropTable DropTableCommand DropView OptimizeTableCommand
RecoverPartitions RenameColumn RenamePartitions RenameTable RepairTable RepairTableCommand
ReplaceColumns RestoreTableCommand RestoreTableStatement SetNamespaceCollationCommand
SetNamespaceLocation SetNamespaceProperties SetTableLocation SetTableProperties
SetTableSerDeProperties SetViewProperties UnsetNamespacePropertiesCommand UnsetTableProperties
UnsetViewProperties VacuumTableCommand
"""
_ADMIN = """
AddArchivesCommand AddFilesCommand AddJarsCommand AnalyzeTables AnalyzeTablesCommand
ClearCacheCommand$ CloneTableCommand CloseCursor CompoundBody ConvertToDeltaCommand
CreateDatabaseCommand CreateFlowCommand CreateFunction CreateFunctionCommand
CreateMaterializedViewAsSelect CreateMetricView CreateMetricViewCommand CreateStreamingTable
CreateStreamingTableAsSelect CreateTableCommand CreateUserDefinedFunction DeclareCursor
DeleteFromTable DeleteFromTableWithFilters DeltaInsertReplaceOnOrUsingCommand DeltaMergeInto
DescribeProcedureCommand DropFunction DropFunctionCommand ExternalCommandExecutor FetchCursor
InsertIntoDataSourceDirCommand InsertIntoStatement InsertOnlyMerge ListArchivesCommand
ListFilesCommand ListJarsCommand LoadData LoadDataCommand MergeIntoTable OpenCursor
RefreshFunction RefreshFunctionCommand RefreshResource ReplaceData RowTrackingBackfillCommand
RowTrackingUnBackfillCommand SaveAsV1TableCommand SaveIntoDataSourceCommand SetPathCommand
ShowProceduresCommand StreamingExplainCommand UpdateTable WriteDelta WriteIntoDelta
"""
COMMANDS: Mapping[str, CommandNeed] = {
    name: need
    for need, names in (
        (CommandNeed.OPEN, _OPEN),
        (CommandNeed.LISTS, _LISTS),
        (CommandNeed.SEES, _SEES),
        (CommandNeed.READS, _READS),
        (CommandNeed.WRITES, " ".join(COMMAND_WRITES)),
        (CommandNeed.MAKES, _MAKES),
        (CommandNeed.OWNS, _OWNS),
        (CommandNeed.ADMIN, _ADMIN),
    )
    for name in names.split()
}
_SHOWS_PLANS = frozenset({"ExplainCommand", "DescribeQueryCommand"})


def command_need(parsed: str, root: str) -> CommandNeed:
    """Of a statement by the class that the parser makes of it, and its analysed root. EXPLAIN asks
    what the statement asks that it explains: its plan has the columns of what it names."""
    found = COMMANDS.get(root)
    if found is None and parsed in _SHOWS_PLANS:
        return COMMANDS[parsed]
    return found or CommandNeed.ADMIN


__all__ = ["COMMANDS", "COMMAND_WRITES", "CommandNeed", "command_need"]
