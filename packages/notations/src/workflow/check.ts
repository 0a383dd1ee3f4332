/**
 * Checks over several steps: a Collect without branches, an agent that would get its own output as input, variables without
 * a step that stores them, and variables of two branches.
 */
import { nearest, rangeWithin } from '@sluice-internal/compile/source';
import type { Range, Report } from '@sluice-internal/compile/source';
import type { Shaped } from '@sluice-internal/compile/document';
import { isSure, type Facts } from './plan.ts';
import { INPUT, holesOf, type Step, type Unit, type Workflow } from './model.ts';
import type { RawWorkflow } from './schema.ts';

interface Checking {
  readonly workflow: Workflow;
  readonly body: Shaped<RawWorkflow>;
  readonly report: Report;
  /** By variable, the first step that stores it. */
  readonly storedBy: ReadonlyMap<string | null, Step>;
}

/** Checks the names, and returns a check for each unit with the facts that hold before it. */
export function createChecks(given: Omit<Checking, 'storedBy'>): (unit: Unit, facts: Facts) => void {
  const storedBy = new Map(given.workflow.steps.toReversed().map((step) => [step.output, step]));
  const checking = { ...given, storedBy };
  checkNames(checking);
  return (unit, facts) => {
    if (unit.is === 'batch') {
      checkBatch(checking, unit.branches);
      for (const branch of unit.branches) checkInvocation(checking, branch, facts);
    } else if (unit.step.mode === 'Collect') noBatch(checking, unit.step);
    else checkInvocation(checking, unit.step, facts);
  };
}

/** Above this many variables a suggestion would cost more than it helps. */
const SUGGEST_MAX = 500;

function noBatch({ workflow, body, report }: Checking, step: Step): void {
  if (workflow.steps[step.index - 1]?.unclear === true) return;
  const message = `the Collect step \`${step.name}\` has no FanOut step right before it`;
  const help = 'Put it after the FanOut steps that it should join.';
  report.error('collect-without-fanout', body.at('steps', step.index, 'mode'), message, { help });
}

/** Steps are not referred to by name, so two steps of one name work. Only reports cannot distinguish them. */
function checkNames({ workflow, body, report }: Checking): void {
  const seen = new Map<string, Range>();
  for (const { name, index } of workflow.steps) {
    const at = body.at('steps', index, 'name');
    const first = seen.get(name);
    if (first === undefined) seen.set(name, at);
    else
      report.warning('duplicate-id', at, `two steps are called \`${name}\``, {
        help: 'Rename one of them, to tell them apart in the path and the results.',
        related: [{ message: 'the first one is here', at: first }],
      });
  }
}

function checkBatch({ body, report }: Checking, branches: readonly Step[]): void {
  const stored = new Map<string, Step>();
  for (const branch of branches) {
    if (branch.output === null) continue;
    const first = stored.get(branch.output);
    if (first === undefined) stored.set(branch.output, branch);
    else
      report.warning(
        'duplicate-variable',
        body.at('steps', branch.index, 'output_var'),
        `the FanOut steps \`${first.name}\` and \`${branch.name}\` both store \`${branch.output}\`, so that only the last is kept`,
        {
          help: 'Give each its own variable.',
          related: [{ message: 'the first one is here', at: body.at('steps', first.index, 'output_var') }],
        },
      );
  }
}

function checkInvocation(checking: Checking, step: Step, before: Facts): void {
  checkDistinct(checking, step, before);
  checkPrompt(checking, step, before);
  if (step.output === null || !isSure(step) || before.stored.get(step.output) !== true || names(step, step.output))
    return;
  const { body, report } = checking;
  const message = `step \`${step.name}\` replaces \`${step.output}\`, which an earlier step stored`;
  const help = 'Give one of the two another name, unless the value should be replaced.';
  report.warning('duplicate-variable', body.at('steps', step.index, 'output_var'), message, { help });
}

function checkDistinct({ body, report }: Checking, step: Step, { upstream }: Facts): void {
  if (!upstream.has(step.agent)) return;
  const at = body.at('steps', step.index);
  const help = 'Use another agent, or a Loop step, which may repeat its agent.';
  const gives = (how: string): string => `step \`${step.name}\` ${how} hand the agent \`${step.agent}\` its own output`;
  if (upstream.size === 1) report.error('same-agent', at, gives('would'), { help });
  else report.warning('same-agent', at, `${gives('may')}, and the run then fails`, { help });
}

function checkPrompt({ workflow, storedBy, body, report }: Checking, step: Step, { stored }: Facts): void {
  // A variable whose name cannot be read may be any variable.
  if (workflow.steps.some(({ index }) => body.poisoned('steps', index, 'output_var'))) return;
  const field = body.located('steps', step.index, 'prompt') === undefined ? 'prompt_template' : 'prompt';
  const scalar = body.located('steps', step.index, field);
  for (const hole of holesOf(step.prompt)) {
    if (hole.name === INPUT || stored.has(hole.name) || hole.name === '') continue;
    const at =
      scalar?.kind === 'scalar'
        ? rangeWithin(report.source, scalar, hole.start, hole.end)
        : body.at('steps', step.index, field);
    const later = storedBy.get(hole.name);
    const near = stored.size > SUGGEST_MAX ? undefined : nearest(hole.name, [INPUT, ...stored.keys()]);
    const why =
      later === undefined
        ? `no step stores the variable \`${hole.name}\``
        : `\`${hole.name}\` is not stored before step \`${later.name}\` has run`;
    report.warning('unknown-variable', at, `${why}, so the text \`${hole.written}\` stays in the prompt`, {
      help: near === undefined ? 'Store it in an earlier step with `output_var`.' : `Did you mean \`{{${near}}}\`?`,
    });
  }
}

function names(step: Step, variable: string): boolean {
  return holesOf(step.prompt).some(({ name }) => name === variable);
}
