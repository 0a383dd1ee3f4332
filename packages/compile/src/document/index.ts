/** What other packages use of `compile/document`. */
export { approvalTimeoutMs, hasPeople, mayAsk, mayDecide, planDenied, stricterConsequence } from './boundary.ts';
export type {
  ApproversFields,
  FlowSections,
  Ids,
  NamedAgent,
  NamedServers,
  NamedTools,
  Needed,
  SharedSections,
  Written,
} from './builder-types/sections.ts';
export type { Blank, OneOf, Trimmed, Verified } from './builder-types/verified.ts';
export {
  definitionsOf,
  grantedTools,
  serverTool,
  staysInside,
  tighter,
  toolNamed,
  undeclaredAgent,
} from './definitions.ts';
export type { Definitions } from './definitions.ts';
export { readDocument } from './document.ts';
export type { ReadDocument } from './document.ts';
export { innerBudgets } from './inner-budgets.ts';
export { memoryOf } from './memory.ts';
export type { MemoryDef } from './memory.ts';
export { UNREACHABLE, modelTable } from './model-table.ts';
export type { ModelEntry, ModelTable, PriceLookup } from './model-table.ts';
export { isModelName, toolNames } from './names-check.ts';
export type { KnownTools } from './names-check.ts';
export { checkAgent, declareIds, isPoisonedList, isPoisonedName, namesAt, namesOf } from './names.ts';
export type { Names, SectionNames } from './names.ts';
export { checkNarrower } from './narrower.ts';
export type { Review } from './notify.ts';
export { checkApprovers, givenApprovers, readPeople } from './people.ts';
export type { People, ToolApprovers } from './people.ts';
export { checkProtections } from './protections-check.ts';
export { FULL_PROTECTIONS, protectionsOf } from './protections.ts';
export type { LoopRules, Protections } from './protections.ts';
export { replySettings, settingsOf } from './reply-settings.ts';
export { ANSWER_NAMES, memory, seed, temperature, topP } from './schema/agents.ts';
export { PROFILES, budgets } from './schema/bounds.ts';
export type { Budgets } from './schema/bounds.ts';
export { approvers } from './schema/people.ts';
export type { ApproversValue } from './schema/people.ts';
export { protections } from './schema/protections.ts';
export type { RawProtections } from './schema/protections.ts';
export { SECTION_NAMES, documentSchema } from './schema/schema.ts';
export type { Sections, WrittenSections } from './schema/schema.ts';
export type { McpServers } from './schema/tools.ts';
export { argumentProblems, typePhrase } from './shape/argument-check.ts';
export { describe, listed, unknownKeyHelp } from './shape/fault-words.ts';
export {
  agentName,
  verifierField,
  anyNumber,
  bool,
  duration,
  durationMs,
  fault,
  headers,
  int,
  json,
  jsonMap,
  list,
  map,
  name,
  number,
  once,
  oneOf,
  oneOfKeys,
  phrase,
  record,
  ruled,
  some,
  text,
  toolName,
} from './shape/fields.ts';
export type { AgentName, ToolName } from './shape/fields.ts';
export { POISON, isPoison } from './shape/poison.ts';
export { jsonSchema } from './shape/schema-check.ts';
export { readShape } from './shape/shape.ts';
export type { Places, Shaped } from './shape/shape.ts';
export { checkVerifier } from './verifier-check.ts';
