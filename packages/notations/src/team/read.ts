/** Reads a team: all mistakes at once, names resolved. The strategy then reads its own keys of `Selection`. */
import {
  POISON,
  SECTION_NAMES,
  checkVerifier,
  declareIds,
  namesAt,
  readShape,
  tighter,
} from '@sluice-internal/compile/document';
import type { Definitions, ReadDocument, Shaped } from '@sluice-internal/compile/document';
import { childOf, nearest, quoted, textOf } from '@sluice-internal/compile/source';
import type { Path, Report } from '@sluice-internal/compile/source';
import { verifierOf } from '@sluice-internal/compile/lower';
import { ARTIFACTS, EVIDENCE_FAILURES } from '@sluice-internal/kernel/catalog';
import { onlyReads } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { HANDOFF, memoryOfMembers, readMembers, type Members } from './agents.ts';
import { checkProfiles } from './api-profiles.ts';
import { withBrownfield } from './brownfield.ts';
import { checkSources } from './context.ts';
import type { Reading, Team } from './model.ts';
import { STRATEGY_NAMES, TYPE_NAMES, teamSchema } from './schema/schema.ts';
import { WITHOUT_EFFECT, teamKeys, type RawTeam } from './schema/sections.ts';
import { checkSecurity } from './security.ts';
import { withAgentFiles } from './agent-files.ts';
import { serversOf } from './mcp-servers.ts';
import { normalised } from './spelling.ts';
import { checkValidation } from './checks.ts';
import { STRATEGIES } from './strategies/registry.ts';
import type { Plan, Strategy } from './strategies/strategy.ts';
import { readTermination, tokenLimit } from './termination.ts';
import { isCompacted } from './turn.ts';

/** The log of changes that the tools keep. */
const CHANGE_LOG = `${ARTIFACTS.state}/changes.json`;

export interface ReadTeam {
  readonly team: Team;
  readonly reading: Reading;
  /** Null if the strategy is unknown or too little of it could be read. */
  readonly plan: Plan | null;
}

type Selection = { readonly Type: string; readonly [key: string]: unknown };
type Body = Shaped<RawTeam & { readonly Selection: Selection }>;

export function readTeam(written: ReadDocument, declared: Definitions, report: Report): ReadTeam | null {
  const document = {
    ...written,
    body: withAgentFiles(normalised(written.body, TYPE_NAMES), declared.readText, report),
  };
  const read: Body | null = readShape(teamSchema, document.body, report, {
    what: document.bare ? 'this document' : '`Orchestration`',
    alsoKnown: document.bare ? SECTION_NAMES : [],
    poison,
  });
  if (read === null) return null;
  const body: Body = withBrownfield(read, declared.readText, report);
  const limited = withTokenLimit(declared, body.value);
  const definitions = { ...limited, servers: { ...limited.servers, ...serversOf(body, limited.servers, report) } };
  const reading = readingOf(document, body, report, definitions);
  if (reading.names.all.size === 0 && body.sound)
    report.error('missing-field', document.at, 'a team needs at least one agent', {
      help: 'List them under `Agents`.',
    });
  const { members, tools } = readMembers(reading, definitions);
  checkAgents(reading);
  checkProfiles(reading);
  checkSaga(reading, tools, definitions);
  const strategy = strategyOf(body);
  const raw = body.value;
  if (strategy !== null) {
    warnOfUnused(reading, raw.Selection, strategy);
    warnOfCompaction(reading, strategy.type);
  }
  reportUnsupported(reading);
  checkActions(reading);
  checkSecurity(reading);
  if (raw.verifier !== undefined)
    checkVerifier(
      raw.verifier,
      { ...document.names, agents: reading.names },
      (...path) => body.at('verifier', ...path),
      report,
    );
  if (raw.Verifier !== undefined) reading.agent(raw.Verifier.AgentName, ['Verifier', 'AgentName']);
  declareIds(childOf(document.body, 'Contracts'), report, { what: 'contract', key: 'Name' });
  checkValidation(reading);
  const team: Team = {
    id: raw.Name ?? 'team',
    raw,
    strategy: strategy?.type ?? raw.Selection.Type,
    members,
    names: [...members.keys()],
    tools,
    termination: readTermination(reading),
    verifier: verifierOf(raw.verifier, null),
    definitions: { ...definitions, memory: memoryOfMembers(reading, definitions) },
  };
  return { team, reading, plan: strategy?.plan(raw.Selection, reading, team) ?? null };
}

/** `MaxTotalTokens`, or the limit of a termination of the type `tokenbudget`. */
function withTokenLimit(declared: Definitions, { MaxTotalTokens = 0, Termination }: RawTeam): Definitions {
  const ended = tokenLimit(Termination);
  const limits = [MaxTotalTokens, ended].filter((limit) => limit > 0);
  if (limits.length === 0) return declared;
  const tokens = Math.min(...limits);
  const budgets = tighter(declared.budgets, { tokens });
  if (declared.budgets?.tokens !== undefined && declared.budgets.tokens <= tokens) return { ...declared, budgets };
  const key = tokens === MaxTotalTokens ? 'MaxTotalTokens' : 'MaxTokens of Termination';
  return { ...declared, budgets, budgetKeys: { tokens: key } };
}

function readingOf(document: ReadDocument, body: Body, report: Report, definitions: Definitions): Reading {
  declareIds(childOf(document.body, 'Agents'), report, { what: 'agent', key: 'Name' });
  const names = namesAt(document.body, 'Agents', teamKeys(), ['Name']);
  const agent = (name: string, path: Path): boolean => {
    if (names.all.has(name)) return true;
    // A team without agents is reported as a whole.
    if (names.has(name) || (names.all.size === 0 && body.sound)) return false;
    const help = names.help(name, 'Declare it under `Agents`.');
    report.error('unknown-agent', body.at(...path), `unknown agent \`${name}\``, { help });
    return false;
  };
  return {
    body,
    report,
    names,
    sections: document.names,
    readText: definitions.readText,
    depthMax: definitions.protections.depth,
    at: body.at,
    agent,
    agents: (listed = [], path) => {
      for (const [index, name] of listed.entries()) agent(name, [...path, index]);
    },
    unused: (path, message, help) => report.warning('unused-field', body.key(...path), message, { help }),
    unenforced: (at, message, help) => report.warning('not-enforced', at, message, { help }),
  };
}

/** The named strategy, or the one with the nearest name. Null if no name is near. */
function strategyOf(body: Body): Strategy | null {
  const written =
    body.sound || body.located('Selection', 'Type') !== undefined
      ? body.value.Selection.Type
      : nearest(textOf(childOf(body.located('Selection'), 'Type')) ?? '', STRATEGY_NAMES);
  return STRATEGIES.find(({ type }) => type === written) ?? null;
}

function checkAgents(reading: Reading): void {
  for (const [index, { Name, Context, ContextWindow }] of reading.body.value.Agents.entries()) {
    const path: Path = ['Agents', index, 'ContextWindow'];
    checkSources(Context ?? [], ['Agents', index, 'Context'], true, reading);
    for (const key of ['ExcludeAgents', 'IncludeAgents'] as const) reading.agents(ContextWindow?.[key], [...path, key]);
    const message = `\`ContextWindow\` of agent \`${Name}\` has no effect beside \`Context\``;
    if (Context !== undefined && ContextWindow !== undefined) reading.unused(path, message, 'Keep one of them.');
  }
}

function warnOfUnused({ body, report, unused }: Reading, selection: Selection, strategy: Strategy): void {
  const { type, endsItself } = strategy;
  const fields = strategy.fields();
  const raw = body.value;
  const idle = `has no effect with the strategy \`${type}\``;
  for (const [index, { Name, Routes }] of raw.Agents.entries())
    if (Routes !== undefined && type !== 'keyword')
      unused(['Agents', index, 'Routes'], `\`Routes\` of agent \`${Name}\` ${idle}`, 'Only `keyword` reads it.');
  for (const [key, value] of Object.entries(selection))
    if (key !== 'Type' && !Object.hasOwn(fields, key) && value !== undefined)
      unused(['Selection', key], `\`${key}\` ${idle}`, 'Leave it out, or choose the strategy that reads it.');
  if (raw.Termination !== undefined && endsItself)
    report.warning(
      'ignored-termination',
      body.key('Termination'),
      `\`${type}\` ends by its own rules and ignores \`Termination\``,
      { help: 'Leave it out.' },
    );
  if (raw.Verifier !== undefined && type !== 'statemachine')
    unused(['Verifier'], `\`Verifier\` ${idle}`, 'Only `statemachine` has an agent that verifies.');
  const silent = 'MaxConsecutiveTurnsWithoutSignal';
  if (raw.FailureHandling[silent] > 0 && !SIGNALLED.includes(type))
    unused(['FailureHandling', silent], `\`${silent}\` ${idle}`, 'Leave it out: its agents give no signals.');
}

/** The strategies whose agents say keywords or signals. */
const SIGNALLED = ['keyword', 'statemachine', 'graph'];

/** Sections that other systems act on. */
function reportUnsupported({ body, unenforced: warn }: Reading): void {
  const raw = body.value;
  for (const [key, help] of Object.entries(WITHOUT_EFFECT))
    if (raw[key as keyof RawTeam] !== undefined) warn(body.key(key), `\`${key}\` has no effect`, help);
  const { ChangeTracking: changes, Validation: validation, Checkpoint: checkpoint } = raw;
  const logs = { ChangeTracking: { Path: changes?.Path }, Validation: { ChangeLogPath: validation.ChangeLogPath } };
  for (const [section, fields] of Object.entries(logs))
    for (const [field, path] of Object.entries(fields))
      if (path !== undefined && path !== CHANGE_LOG)
        warn(
          body.at(section, field),
          `the log of changes is \`${CHANGE_LOG}\``,
          `It is in the work directory, where agents can read it and cannot write. Leave \`${field}\` out.`,
        );
  if (checkpoint?.Mode !== undefined && !/^json$/i.test(checkpoint.Mode))
    warn(
      body.at('Checkpoint', 'Mode'),
      `\`${checkpoint.Mode}\` has no effect: runs are always kept`,
      'Remove ended runs with `retain` beside `Orchestration`, or choose a database with `--db`.',
    );
  if (checkpoint?.Path !== undefined)
    warn(
      body.key('Checkpoint', 'Path'),
      '`Checkpoint.Path` has no effect',
      'Every step is kept in the database of the run: choose it with `--db`.',
    );
}

/** Compaction never asks a model. */
function warnOfCompaction({ body, unenforced: warn }: Reading, strategy: string): void {
  const raw = body.value;
  if (raw.Compaction === undefined) return;
  const { Mode, TriggerTurnCount: _, KeepRecentTurns: __, ...summary } = raw.Compaction;
  for (const key of Object.keys(summary))
    warn(body.key('Compaction', key), `\`${key}\` has no effect: no model writes a summary`, 'Remove it.');
  if (!isCompacted({ raw, strategy }))
    warn(
      body.key('Compaction'),
      '`Compaction` of mode `lossless` has no effect here',
      'It needs `statemachine` and an `EvidenceStore`. Or use `window`.',
    );
  if (['llm', 'intent', 'hybrid'].includes(Mode))
    warn(
      body.key('Compaction', 'Mode'),
      `\`${Mode}\` asks no model here`,
      'Older turns are rebuilt from evidence if there is an `EvidenceStore` and a state machine, and left out otherwise.',
    );
}

function checkActions({ body, report }: Reading): void {
  for (const failure of EVIDENCE_FAILURES)
    if (body.value.FailureHandling[failure]?.Action === 'Skip')
      report.error(
        'not-supported',
        body.at('FailureHandling', failure, 'Action'),
        '`Skip` is not supported: a failed validator cannot be skipped',
        {
          help: 'Use `Reinstruct`, `ActivateRecovery`, `EscalateToHuman` or `Abort`, or remove the validator.',
        },
      );
}

/** `Saga` undoes the effects of a failed run. Effects without a compensation stay. */
function checkSaga({ body, report }: Reading, tools: Members['tools'], { servers }: Definitions): void {
  const saga = body.value.Saga;
  if (saga?.Enabled !== true) return;
  if (saga.MaxCompensationSteps !== undefined && Object.values(tools).some(({ compensate }) => compensate !== null))
    report.error('not-supported', body.key('Saga', 'MaxCompensationSteps'), 'compensations cannot be limited', {
      help: 'Leave it out. Each effect with a compensation is undone once, the last one first.',
    });
  const isOwn = (name: string): boolean => name !== HANDOFF && !Object.hasOwn(servers, name.split('.')[0] ?? '');
  const lasting = Object.entries(tools).filter(
    ([name, { effect, compensate }]) => isOwn(name) && !onlyReads(effect) && compensate === null,
  );
  if (lasting.length === 0) return;
  const help =
    'Declare the tool under `tools:` beside `Orchestration` with `compensate: <tool>`, and name it in `Plugins`.';
  const message = `nothing undoes ${quoted(lasting.map(([name]) => name))}`;
  report.warning('no-compensation', body.key('Saga'), message, { help });
}

/** Names of agents under `Selection`. One that is missing becomes poison, so that the map around it is still checked. */
const AGENTS: readonly unknown[] = ['Agent', 'Synthesizer', 'Splitter', 'Mapper', 'Reducer', 'Generator', 'Critic'];

function poison(path: Path): Json | undefined {
  if (path[0] !== 'Selection') return undefined;
  if (path.at(-1) === 'Participants') return [POISON];
  if (path.at(-3) === 'Edges' && (path.at(-1) === 'From' || path.at(-1) === 'To')) return POISON;
  return AGENTS.includes(path.at(-1)) ? POISON : undefined;
}
