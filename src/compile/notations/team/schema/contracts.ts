/**
 * Contracts as authors write them. What one requires is named by its key (`FileExists: { Path: … }`) or by a type beside its
 * fields (`Type: FileExists, Path: …`); both are read as the former.
 */
import * as z from 'zod';
import { PREDICATES } from '../../../../catalog/validators.ts';
import type { PredicateName } from '../../../../catalog/validators.ts';
import { bool, fault, json, list, name, record, ruled, text } from '../../../document/shape/fields.ts';

const listed = { Source: name(), Field: name() };
const command = {
  Pattern: name().optional(),
  PatternField: name().optional(),
  PatternSource: name().optional(),
};
const file = { Path: name() };
const report = { Path: name().optional(), NoFailures: bool().optional(), HasAssertions: bool().optional() };
const tests = { FindRelatedCommand: name().optional(), FullSuiteCommand: name().optional() };

/** Fields that stand beside a type. Where it is missing or misspelt they are in the wrong place, which is no further mistake. */
const stray = Object.fromEntries(
  Object.keys({ ...listed, ...command, ...file, ...report, ...tests }).map((field) => [field, json().optional()]),
);

const keyed = ruled(
  record({
    // Its absence is what tells this form from the other; editors are told that no value will do.
    Type: z.undefined().optional().meta({ not: {} }),
    FilesWritten: record(listed).optional(),
    CommandSucceeded: ruled(record(command), namesCommand).optional(),
    FileExists: record(file).optional(),
    TestReport: record(report).optional(),
    ChecklistComplete: record(listed).optional(),
    RelatedTestsPass: json().optional(),
    ...stray,
  }),
  (value, context) => {
    const keys = Object.keys(value);
    if (keys.length === 1 && PREDICATES.some((predicate) => keys.includes(predicate))) return;
    const help = `There are ${PREDICATES.map((each) => `\`${each}\``).join(', ')}.`;
    context.addIssue({
      code: 'custom',
      message: fault('bad-value', 'a requirement names exactly one predicate', help),
    });
  },
);

function typed<Type extends PredicateName, Shape extends z.ZodRawShape>(type: Type, shape: Shape) {
  return record({ Type: z.literal(type), ...shape });
}

const requirement = z
  .discriminatedUnion('Type', [
    keyed,
    typed('FilesWritten', listed),
    ruled(typed('CommandSucceeded', command), namesCommand),
    typed('FileExists', file),
    typed('TestReport', report),
    typed('ChecklistComplete', listed),
    typed('RelatedTestsPass', tests),
  ])
  .transform(({ Type, ...fields }) => (Type === undefined ? fields : { [Type]: fields }));

/** Without either, nothing that was run could be it. */
function namesCommand(
  { Pattern, PatternField }: { readonly Pattern?: string | undefined; readonly PatternField?: string | undefined },
  context: z.RefinementCtx,
): void {
  if (Pattern !== undefined || PatternField !== undefined) return;
  const message = fault(
    'missing-field',
    '`CommandSucceeded` needs `Pattern` or `PatternField`',
    'Say which command has to succeed, or which field of the brief names it.',
  );
  context.addIssue({ code: 'custom', message });
}

export const contract = record({
  Name: name(),
  Description: text().optional(),
  Requires: list(requirement).describe('All of it must hold; an empty list always does.'),
});
