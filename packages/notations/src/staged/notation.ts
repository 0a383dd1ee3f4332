/** The staged notation: plan, fan-out, fan-in, validate, finalize. */
import { FULL_PROTECTIONS, readShape } from '@sluice-internal/compile/document';
import type { Definitions, Places, ReadDocument } from '@sluice-internal/compile/document';
import type { Notation } from '@sluice-internal/compile/rules';
import type { Path, Report } from '@sluice-internal/compile/source';
import { drawStaged } from './draw.ts';
import { lowerStaged } from './lower.ts';
import { stagedSchema } from './schema.ts';
import { checkStaged } from './check.ts';
import { resolveDefaults, topologyOf, type Stage, type Staged } from './model.ts';
import { mayEscalate } from './kinds.ts';

export const stagedNotation: Notation = {
  name: 'staged',
  key: 'staged',
  schema: stagedSchema,
  limits: ['depth', 'spawn', 'on_failure'],
  protections: FULL_PROTECTIONS,
  lower(document, definitions, report) {
    const staged = readStaged(document, definitions, report);
    if (staged === null) return { lowered: null, picture: null };
    return { lowered: lowerStaged(staged, document.at), picture: drawStaged(staged) };
  },
};

/** `approvers` answer if the stage escalates. On a stage that never does, they approve no result. */
function warnAboutApprovers(staged: Staged, body: Places, report: Report): void {
  const { work, plan, working, aggregate, validate, finalize } = staged;
  const warn = (stage: Stage, ...at: Path): void => {
    if (stage.approvers === undefined || mayEscalate(staged, stage)) return;
    const message = `no result of \`${stage.id}\` waits for its \`approvers\` in the tier \`${staged.tier}\``;
    report.warning('unused-field', body.key(...at, 'approvers'), message, {
      help: 'Write `validate: { review: true, approvers: … }` if a person decides about every result. These only answer for the breaker, the velocity limit and the loop detector.',
    });
  };
  for (const stage of [plan, working, aggregate, validate, finalize]) warn(stage, stage.id);
  if (work.is === 'sop') for (const [index, step] of work.steps.entries()) warn(step, 'sop', index);
  if (work.is === 'teams')
    for (const [index, team] of work.teams.entries())
      warnAboutApprovers(team.staged, body.under('teams', index, 'staged'), report);
}

function readStaged(document: ReadDocument, definitions: Definitions, report: Report): Staged | null {
  const body = readShape(stagedSchema, document.body, report, { what: '`staged`' });
  if (body === null) return null;
  const { tier = definitions.protections.tier } = body.value;
  checkStaged({ body, document, definitions, report, tier, depth: 1 }, body.value);
  if (!body.sound || !document.sections.sound || report.failed()) return null;
  const staged = resolveDefaults(body.value, topologyOf(body.value), definitions, tier);
  warnAboutApprovers(staged, body, report);
  return staged;
}
