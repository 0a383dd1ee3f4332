/** The checks of protections in a `staged` section: each one can act where it is declared. */
import { FAILURE_KINDS } from '@sluice-internal/kernel/ir';
import type { Tier } from '@sluice-internal/kernel/ir';
import { checkProtections, protectionsOf } from '@sluice-internal/compile/document';
import type { Definitions, Places, RawProtections, ReadDocument } from '@sluice-internal/compile/document';
import type { Path, Report } from '@sluice-internal/compile/source';
import { topologyOf } from './model.ts';
import { WORK_KEYS, type RawStage, type RawStaged, type Topology } from './schema.ts';

/** A `staged` section that is checked. */
export interface Section {
  readonly body: Places;
  readonly document: ReadDocument;
  readonly definitions: Definitions;
  readonly report: Report;
  readonly tier: Tier;
  /** 1 for the section itself, 2 for its teams. */
  readonly depth: number;
}

/** Protections of the document that cannot act in its stages. */
export function checkDocumentProtections(section: Section, raw: RawStaged): void {
  const { sections } = section.document;
  checkOtherModel(section, sections.value.protections, sections.under('protections').at);
  checkMonitor(section, raw);
  checkSafeTexts(section, raw);
}

/** Protections of a stage: the same checks as for a document, and each belongs to a stage that it can act in. */
export function checkStageProtections(section: Section, topology: Topology, at: Path, stage: RawStage): void {
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
export function stagesOf(raw: RawStaged, topology: Topology): readonly Placed[] {
  const keys = ['plan', 'workers', 'debate', 'peers', 'board', 'swarm', 'aggregate', 'validate', 'finalize'] as const;
  const stages = keys.flatMap((key): Placed[] => {
    const stage = raw[key];
    return stage === undefined ? [] : [{ at: [key], stage }];
  });
  if (topology !== 'sop') return stages;
  return [...stages, ...(raw.sop ?? []).map((stage, index): Placed => ({ at: ['sop', index], stage }))];
}
