/** The checks of a `staged` section: its topology, its agents, its expressions, the names that it requires, and its protections. */
import { didYouMean } from '@sluice-internal/compile/source';
import type { Path, Report } from '@sluice-internal/compile/source';
import {
  checkAgent,
  checkApprovers,
  declareIds,
  checkProtections,
  checkVerifier,
  protectionsOf,
} from '@sluice-internal/compile/document';
import type { Definitions, Places, RawProtections, ReadDocument } from '@sluice-internal/compile/document';
import { reportConditions } from '@sluice-internal/compile/expressions';
import { FAILURE_KINDS } from '@sluice-internal/kernel/ir';
import type { Tier } from '@sluice-internal/kernel/ir';
import { topologyOf } from './model.ts';
import { TOPOLOGIES, WORK_KEYS } from './schema.ts';
import type { RawInvariant, RawStage, RawStaged, Topology, WorkKey } from './schema.ts';

export function checkStaged(section: Section, raw: RawStaged): void {
  const topology = topologyOf(raw);
  if (!checkTopology(section, raw, topology)) return;
  checkAgents(section, raw);
  for (const { at, stage } of stagesOf(raw, topology)) checkStage(section, raw, topology, at, stage);
  checkInvariants(section, raw.validate?.invariants ?? []);
  checkRules(section, raw.oracle, ['oracle'], RESULT_NAMES);
  checkConfidence(section, raw);
  if (section.depth === 1) {
    checkPolicies(section, raw);
    checkDocumentProtections(section, raw);
  }
  checkIds(section, raw);
  checkTeams(section, raw);
  if (raw.swarm !== undefined)
    section.report.warning('swarm', section.body.key('swarm'), SWARM, {
      help: 'Prefer `workers`, where the planner makes all tasks. Set `budgets.cost_usd` if you keep it.',
    });
}

/** A `staged` section that is checked. */
interface Section {
  readonly body: Places;
  readonly document: ReadDocument;
  readonly definitions: Definitions;
  readonly report: Report;
  readonly tier: Tier;
  /** 1 for the section itself, 2 for its teams. */
  readonly depth: number;
}

const SWARM = 'members of a swarm start further members: models decide how much the run costs, up to its limits';

const RESULT_NAMES = ['output', 'aggregate', 'plan', 'summaries', 'partial', 'receipts', 'input'];
const GUARD_NAMES = ['output', 'input'];
const KEYS = Object.values(WORK_KEYS);

/** Exactly one kind of work, and the one that `topology` names. */
function checkTopology({ body, report }: Section, raw: RawStaged, topology: Topology): boolean {
  const given = KEYS.filter((key) => raw[key] !== undefined);
  const wanted = WORK_KEYS[topology];
  const other = given.find((key) => key !== wanted);
  if (other !== undefined) {
    const named = raw.topology !== undefined;
    report.error(
      'bad-value',
      body.key(other),
      named
        ? `the topology is \`${topology}\`, which has \`${wanted}\` and not \`${other}\``
        : `a staged flow has one kind of work, but this one has \`${wanted}\` and \`${other}\``,
      { help: named ? `Write \`topology: ${topologyWith(other)}\`, or \`${wanted}:\`.` : 'Remove one of them.' },
    );
    return false;
  }
  if (given.length === 0 && !KEYS.some((key) => body.poisoned(key))) {
    report.error('missing-field', body.at(), `a staged flow with the topology \`${topology}\` needs \`${wanted}\``, {
      help: wanted === 'workers' ? 'Add `workers: { agent: … }`.' : `Add \`${wanted}: …\`.`,
    });
    return false;
  }
  // The work of another topology could not be read, so the default topology is not the one of the author.
  const works = given.length > 0 || body.poisoned(wanted);
  const plans = works && (topology === 'supervisor' || topology === 'hierarchical');
  if (plans && raw.plan === undefined && !body.poisoned('plan'))
    report.error('missing-field', body.at(), `the topology \`${topology}\` needs \`plan\``, {
      help: 'Add `plan: { agent: … }`: it makes the tasks.',
    });
  return true;
}

function topologyWith(key: WorkKey): Topology {
  return TOPOLOGIES.find((topology) => WORK_KEYS[topology] === key) ?? 'supervisor';
}

/** Every place that names an agent. */
function checkAgents(section: Section, raw: RawStaged): void {
  const { body, document, report } = section;
  const one = (agent: string | undefined, ...at: Path): void => {
    const where = at.filter((each) => typeof each === 'string').join('.');
    checkAgent(document.names.agents, agent, where, body.at(...at), report);
  };
  const many = (agents: readonly string[] | undefined, ...at: Path): void =>
    agents?.forEach((agent, index) => one(agent, ...at, index));
  for (const key of ['plan', 'aggregate', 'validate', 'finalize'] as const) one(raw[key]?.agent, key, 'agent');
  one(raw.plan?.critic, 'plan', 'critic');
  one(raw.workers?.agent, 'workers', 'agent');
  one(raw.swarm?.agent, 'swarm', 'agent');
  one(raw.debate?.judge, 'debate', 'judge');
  for (const key of ['workers', 'peers', 'debate', 'board'] as const) many(raw[key]?.agents, key, 'agents');
  raw.sop?.forEach(({ agent }, index) => one(agent, 'sop', index, 'agent'));
  checkWorkers(section, raw);
  for (const key of ['peers', 'debate', 'board'] as const) checkTwice(section, key, raw[key]?.agents ?? []);
  checkStart(section, raw);
}

function checkStart(section: Section, { peers }: RawStaged): void {
  const { start, agents = [] } = peers ?? {};
  if (start === undefined || agents.includes(start)) return;
  section.report.error(
    'unknown-agent',
    section.body.at('peers', 'start'),
    `\`start\` names \`${start}\`, which is not one of the peers`,
    { help: didYouMean(start, agents, `The peers are ${agents.join(', ')}.`) },
  );
}

/** Members read each other's words by name. */
function checkTwice({ body, report }: Section, key: WorkKey, agents: readonly string[]): void {
  for (const [index, agent] of agents.entries())
    if (agents.indexOf(agent) < index)
      report.error('duplicate-id', body.at(key, 'agents', index), `\`${agent}\` is twice in \`${key}\``, {
        help: 'Declare a second agent with the same instructions.',
      });
}

function checkWorkers({ body, report }: Section, { workers }: RawStaged): void {
  if (workers === undefined) return;
  if (workers.agent !== undefined && workers.agents !== undefined)
    report.error('bad-value', body.key('workers', 'agents'), '`workers` has an `agent` or `agents`, but not both', {
      help: 'Remove one of them.',
    });
  const unread = body.poisoned('workers', 'agent') || body.poisoned('workers', 'agents');
  if (workers.agent === undefined && workers.agents === undefined && !unread)
    report.error('missing-agent', body.at('workers'), '`workers` names no agent', {
      help: 'Add `agent: …`, or `agents: […]`.',
    });
}

function checkStage(section: Section, raw: RawStaged, topology: Topology, at: Path, stage: RawStage): void {
  checkRules(section, stage.guards, [...at, 'guards'], GUARD_NAMES);
  checkRequires(section, raw, topology, at, stage.requires ?? []);
  checkStageProtections(section, topology, at, stage);
  const approvers = {
    at: section.body.under(...at, 'approvers').at,
    of: `stage \`${at.join('/')}\``,
    timeout: section.definitions.boundary?.approval_timeout,
  };
  checkApprovers(stage.approvers, section.definitions.people, approvers, section.report);
  if (stage.verifier !== undefined)
    checkVerifier(
      stage.verifier,
      section.document.names,
      (...path) => section.body.at(...at, 'verifier', ...path),
      section.report,
    );
  checkIdle(section, raw, at, stage);
}

/** The engine performs this stage itself, so a limit of calls has no effect. */
function checkIdle({ body, report }: Section, raw: RawStaged, [key]: Path, stage: RawStage): void {
  if (key !== 'aggregate' && key !== 'validate' && key !== 'finalize') return;
  if (raw[key]?.agent !== undefined || body.poisoned(key, 'agent')) return;
  if (key === 'validate' && raw.validate?.invariants?.some(({ tool }) => tool !== undefined)) return;
  for (const limit of ['budget', 'timeout', 'verifier'] as const)
    if (stage[limit] !== undefined)
      report.warning('unused-field', body.key(key, limit), `\`${limit}\` has no effect without an agent`, {
        help: `Add \`agent: …\` to \`${key}\`, or remove it.`,
      });
}

/** A name is a stage before this one, or a field of the input. */
function checkRequires(section: Section, raw: RawStaged, topology: Topology, at: Path, names: readonly string[]): void {
  const { body, report } = section;
  const order = ['plan', WORK_KEYS[topology], 'aggregate', 'validate', 'finalize'];
  const here = order.indexOf(String(at[0]));
  const fields = Object.keys((raw.plan?.input as { properties?: object } | undefined)?.properties ?? {});
  for (const [index, name] of names.entries()) {
    const place = body.at(...at, 'requires', index);
    const stage = order.indexOf(name);
    if (stage >= here && stage >= 0)
      report.error('bad-value', place, `\`${order[here]}\` cannot require \`${name}\`, which does not run before it`, {
        help: here === 0 ? 'Require a field of the input.' : `Stages before it: ${order.slice(0, here).join(', ')}.`,
      });
    else if (stage < 0 && !fields.includes(name)) {
      const others = fields.length === 0 ? undefined : `Fields of the input: ${fields.join(', ')}.`;
      const help = didYouMean(name, [...order.slice(0, here), ...fields], others);
      if (help !== undefined) report.error('bad-value', place, `unknown name \`${name}\` in \`requires\``, { help });
    }
  }
}

/** An invariant is one of an expression, a tool that reads, and citations. */
function checkInvariants(section: Section, invariants: readonly RawInvariant[]): void {
  const { body, document, definitions, report } = section;
  const at: Path = ['validate', 'invariants'];
  checkRules(section, invariants, at, RESULT_NAMES);
  for (const [index, invariant] of invariants.entries()) {
    const place = body.under(...at, index);
    const given = (['when', 'tool', 'cites'] as const).filter((key) => invariant[key] !== undefined);
    const { tool } = invariant;
    if (given.length !== 1 && !place.damaged())
      report.error('bad-value', place.at(), 'an invariant has one of `when`, `tool` and `cites`', {
        help: given.length === 0 ? 'Add one of them.' : `Write ${given.length} invariants.`,
      });
    else if (invariant.when !== undefined && invariant.reason === undefined && !place.poisoned('reason'))
      report.error('missing-field', place.at(), 'an invariant with `when` needs a `reason`', {
        help: 'Add the words that people and agents read.',
      });
    else if (tool !== undefined) {
      const effect = definitions.tools[tool]?.effect;
      if (effect === undefined && !document.names.tools.poisoned)
        report.error('unknown-tool', place.at('tool'), `unknown tool \`${tool}\` on \`validate.invariants\``, {
          help: didYouMean(tool, Object.keys(definitions.tools), 'Declare it under `tools`.'),
        });
      else if (effect !== undefined && effect !== 'read')
        report.error(
          'bad-value',
          place.at('tool'),
          `\`${tool}\` has the effect \`${effect}\`, but an invariant only reads`,
          { help: 'Write `effect: read` if it changes nothing.' },
        );
    }
  }
}

function checkRules(
  { body, report }: Section,
  rules: readonly { readonly when?: string | undefined }[] | undefined,
  at: Path,
  names: readonly string[],
): void {
  reportConditions(rules, (index) => body.located(...at, index, 'when'), names, report);
}

/** A policy about a stage that does not exist would protect nothing. */
function checkPolicies({ definitions, document, report }: Section, raw: RawStaged): void {
  const stages = [...new Set(stageNames(raw))];
  for (const [id, text] of Object.entries(definitions.policies))
    for (const [, stage = ''] of text.matchAll(/\bStage::"([^"]*)"/g)) {
      if (stages.includes(stage)) continue;
      report.error(
        'bad-policy',
        document.sections.at('policies', id),
        `policy \`${id}\`: there is no stage \`${stage}\``,
        { help: didYouMean(stage, stages, `The stages are ${stages.join(', ')}.`) },
      );
    }
}

/** The stages of the section and of its teams, as policies see them. */
function stageNames(raw: RawStaged): readonly string[] {
  const topology = topologyOf(raw);
  const work = topology === 'sop' ? (raw.sop ?? []).map(({ id }) => `sop/${id}`) : [WORK_KEYS[topology]];
  const inner = (raw.teams ?? []).flatMap(({ staged }) => stageNames(staged));
  return ['plan', ...work, 'aggregate', 'validate', 'finalize', ...inner];
}

function checkConfidence({ body, report }: Section, { validate }: RawStaged): void {
  if (validate?.confidence === undefined || validate.agent !== undefined) return;
  if (body.poisoned('validate', 'agent')) return;
  report.error('missing-agent', body.key('validate', 'confidence'), '`confidence` needs an agent that judges', {
    help: 'Add `agent: …` to `validate`, or remove `confidence`.',
  });
}

function checkIds({ body, report }: Section, raw: RawStaged): void {
  if (raw.sop !== undefined) declareIds(body.located('sop'), report, { what: 'step' });
  if (raw.teams !== undefined) declareIds(body.located('teams'), report, { what: 'team' });
}

/** Teams have stages of their own, down to the depth that is allowed. */
function checkTeams(section: Section, raw: RawStaged): void {
  const { body, report, depth, definitions, tier } = section;
  const most = definitions.protections.depth;
  for (const [index, { staged }] of (raw.teams ?? []).entries()) {
    const team = body.under('teams', index, 'staged');
    if (most !== null && depth >= most) {
      report.error('bad-value', team.key(), `this team is nested ${depth} levels deep, and ${most - 1} are allowed`, {
        help: 'Flatten the teams, or set `protections.depth`.',
      });
      return;
    }
    if (staged.tier !== undefined && staged.tier !== tier)
      report.error('bad-value', team.at('tier'), `the tier of the run is \`${tier}\`, also for its teams`, {
        help: 'Remove `tier` here.',
      });
    checkStaged({ ...section, body: team, depth: depth + 1 }, staged);
  }
}

/** Protections of the document that cannot act in its stages. */
function checkDocumentProtections(section: Section, raw: RawStaged): void {
  const { sections } = section.document;
  checkOtherModel(section, sections.value.protections, sections.under('protections').at);
  checkMonitor(section, raw);
  checkSafeTexts(section, raw);
}

/** Protections of a stage: the same checks as for a document, and each belongs to a stage that it can act in. */
function checkStageProtections(section: Section, topology: Topology, at: Path, stage: RawStage): void {
  checkFallback(section, at, stage);
  const { protections } = stage;
  if (protections === undefined) return;
  const { document, report } = section;
  const places = section.body.under(...at, 'protections');
  const has = (name: string): boolean => document.doc.entries.has(name);
  checkProtections(protections, {
    ...places,
    models: has('models') ? document.names.models : null,
    agents: has('agents') ? document.names.agents : null,
    report,
  });
  checkOtherModel(section, protections, places.at);
  const isWork = at[0] === WORK_KEYS[topology];
  const misplaced: readonly (readonly [key: keyof RawProtections, allowed: boolean, help: string])[] = [
    ['tier', false, 'Write `tier` in `staged`: it is that of the whole run.'],
    ['depth', false, 'Write it under `protections` of the document: it limits teams inside teams.'],
    ['hops', isWork && topology === 'handoff', 'Only `peers` hand a task on.'],
    ['spawn', (isWork && topology !== 'sop') || at[0] === 'plan', 'Write it under `plan` or under the work.'],
  ];
  for (const [key, allowed, help] of misplaced)
    if (protections[key] !== undefined && !allowed)
      report.error('bad-value', places.key(key), `\`${key}\` has no effect on \`${String(at[0])}\``, { help });
}

/** A declared monitor that can never act. */
function checkMonitor({ document: { sections }, report }: Section, raw: RawStaged): void {
  const { hops, deadlock } = sections.value.protections ?? {};
  const hasPeers = hasStage(raw, (_, key) => key === 'peers');
  const hasTimeout = hasStage(raw, ({ timeout }) => timeout !== undefined);
  const idle: readonly (readonly ['hops' | 'deadlock', boolean, string])[] = [
    ['hops', typeof hops === 'number' && !hasPeers, 'Only `peers` hand a task on. Remove it.'],
    [
      'deadlock',
      typeof deadlock === 'object' && !hasPeers && !hasTimeout,
      'Only `peers`, and stages with a `timeout`, can be stuck. Remove it, or set a `timeout`.',
    ],
  ];
  for (const [key, isIdle, help] of idle)
    if (isIdle)
      report.warning('unused-field', sections.at('protections', key), `\`protections.${key}\` watches nothing here`, {
        help,
      });
}

/** `then: fallback` for the whole document, without a stage that has a safe text. */
function checkSafeTexts({ document: { sections }, report }: Section, raw: RawStaged): void {
  const changes = sections.value.protections?.on_failure ?? {};
  if (hasStage(raw, ({ safe_fallback: safe }) => safe !== undefined)) return;
  for (const kind of FAILURE_KINDS)
    if (changes[kind]?.then === 'fallback')
      report.error(
        'missing-field',
        sections.at('protections', 'on_failure', kind, 'then'),
        '`then: fallback` needs a `safe_fallback`, and no stage has one',
        { help: 'Add `safe_fallback: …` to a stage.' },
      );
}

/** True for a stage of the section, or of one of its teams. */
function hasStage(raw: RawStaged, is: (stage: RawStage, key: Path[number] | undefined) => boolean): boolean {
  const own = stagesOf(raw, topologyOf(raw)).some(({ stage, at: [key] }) => is(stage, key));
  return own || (raw.teams ?? []).some(({ staged }) => hasStage(staged, is));
}

/** In the regulated tier no other model takes over, so a document that names one is misleading. */
function checkOtherModel({ report, tier }: Section, protections: RawProtections | undefined, at: Places['at']): void {
  const { breaker } = protections ?? {};
  if (tier !== 'regulated' || typeof breaker !== 'object') return;
  if (breaker.fallback === undefined || !('model' in breaker.fallback)) return;
  report.warning(
    'unused-field',
    at('breaker', 'fallback', 'model'),
    '`breaker.fallback.model` has no effect in the tier `regulated`: no other model takes over',
    { help: 'Write `fallback: { escalate: true }`, so that a person decides, or remove it.' },
  );
}

/** A safe text that is never used, and a fallback without a safe text. */
function checkFallback(section: Section, at: Path, stage: RawStage): void {
  const { body, report, tier, definitions } = section;
  const own = stage.protections?.on_failure ?? {};
  const safe = stage.safe_fallback;
  for (const kind of FAILURE_KINDS)
    if (own[kind]?.then === 'fallback' && safe === undefined)
      report.error(
        'missing-field',
        body.at(...at, 'protections', 'on_failure', kind, 'then'),
        '`then: fallback` needs a `safe_fallback`',
        { help: `Add \`safe_fallback: …\` to \`${at.join('/')}\`.` },
      );
  const changes = protectionsOf(stage.protections, definitions.protections).onFailure;
  if (safe === undefined || FAILURE_KINDS.some((kind) => changes[kind]?.last === 'fallback')) return;
  const place = body.key(...at, 'safe_fallback');
  if ((stage.guards ?? []).length === 0)
    report.warning('unused-field', place, '`safe_fallback` has no effect without `guards`', {
      help: 'Add `guards: [{ when: …, reason: … }]`, or remove it.',
    });
  else if (tier !== 'interactive')
    report.warning('unused-field', place, `\`safe_fallback\` has no effect in the tier \`${tier}\``, {
      help: `${tier === 'batch' ? 'An unsafe output halts a batch run' : 'A person decides about an unsafe output'}. Use \`tier: interactive\`, or remove it.`,
    });
}

interface Placed {
  readonly at: Path;
  readonly stage: RawStage;
}

/** Every map with stage keys. */
function stagesOf(raw: RawStaged, topology: Topology): readonly Placed[] {
  const keys = ['plan', 'workers', 'debate', 'peers', 'board', 'swarm', 'aggregate', 'validate', 'finalize'] as const;
  const stages = keys.flatMap((key): Placed[] => {
    const stage = raw[key];
    return stage === undefined ? [] : [{ at: [key], stage }];
  });
  if (topology !== 'sop') return stages;
  return [...stages, ...(raw.sop ?? []).map((stage, index): Placed => ({ at: ['sop', index], stage }))];
}
