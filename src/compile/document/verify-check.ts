/** The rule by which a tool's result is verified can be read, whoever calls the tool. */
import type { Report } from '../diagnose/diagnostics.ts';
import type { ReadDocument } from './document.ts';
import { reportProblems } from '../expressions/diagnostic.ts';
import { checkExpression } from '../expressions/expression.ts';

export function checkVerifications({ sections }: ReadDocument, report: Report): void {
  for (const [name, { verify, output }] of Object.entries(sections.value.tools)) {
    const located = sections.located('tools', name, 'verify');
    if (verify === undefined || located?.kind !== 'scalar') continue;
    const checked = checkExpression(verify, {
      names: ['result'],
      ...(output === undefined ? {} : { types: { result: output } }),
    });
    if (!checked.ok) reportProblems(report, located, checked.problems);
  }
}
