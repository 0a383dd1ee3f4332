/**
 * The section `policies`: texts and files together, checked by the policy engine against the schema of the flow's tools. A
 * name that no tool has is an error at its place.
 */
import type { FlowBody } from '@sluice-internal/kernel/ir';
import { policySchema, stagesIn } from '@sluice-internal/kernel/catalog';
import type { PolicyChecker, PolicyProblem } from '@sluice-internal/kernel/catalog';
import type { Report } from '../source/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import { rangeWithin } from '../source/scalar-range.ts';

export interface PolicyOptions {
  /** Checks policies; without it they are not checked before a run. */
  readonly checkPolicy?: PolicyChecker;
  /** The text of a file that the document names; null if the file does not exist. */
  readonly readText?: (file: string) => string | null;
}

export type PolicyTexts = { readonly [id: string]: string };

/** The texts by id. A file that cannot be read is an error: without it, less would be forbidden than was meant. */
export function readPolicies({ sections }: ReadDocument, report: Report, { readText }: PolicyOptions): PolicyTexts {
  const texts: { [id: string]: string } = {};
  for (const [id, policy] of Object.entries(sections.value.policies ?? {})) {
    const text = 'text' in policy ? policy.text : (readText?.(policy.file) ?? null);
    if (text !== null) texts[id] = text;
    else if ('file' in policy)
      report.error(
        'bad-policy',
        sections.at('policies', id, 'file'),
        `the policy file \`${policy.file}\` cannot be read`,
        { help: 'Paths start at the folder of the document.' },
      );
  }
  return texts;
}

export function checkPolicies(
  texts: PolicyTexts,
  { tools, notation }: Pick<FlowBody, 'tools' | 'notation'>,
  { sections }: ReadDocument,
  report: Report,
  { checkPolicy }: PolicyOptions,
): void {
  const ids = Object.keys(texts);
  if (checkPolicy === undefined || ids.length === 0) return;
  // Only a staged flow has stages. Elsewhere a policy about them names an unknown action.
  const schema = policySchema(tools, notation === 'staged' ? stagesIn(texts) : []);
  let permits = false;
  for (const id of ids) {
    const judged = checkPolicy(texts[id] as string, schema);
    permits ||= judged.permits;
    for (const problem of judged.problems) tell(problem, id);
  }
  if (!permits && !report.failed())
    report.warning(
      'policy-permits-nothing',
      sections.key('policies'),
      'no policy permits anything, so every call is denied',
      { help: 'Add one, such as `permit(principal, action, resource);`.' },
    );

  function tell({ severity, message, help, start, end }: PolicyProblem, id: string): void {
    const located = sections.located('policies', id);
    const inline = located?.kind === 'scalar' && start !== undefined;
    const at = inline ? rangeWithin(report.source, located, start, end ?? start) : sections.at('policies', id);
    const line = texts[id]?.slice(0, start).split('\n').length ?? 1;
    const where = inline || start === undefined ? '' : ` (line ${line} of the file)`;
    report[severity]('bad-policy', at, `policy \`${id}\`: ${message}${where}`, help === undefined ? {} : { help });
  }
}
