/** Checks the arguments of a tool node against the schema of the tool: each is known, none is missing, and every type fits. */
import { isRecord, misspelt } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { argumentProblems, describe, toolNamed, typePhrase } from '@sluice-internal/compile/document';
import type { Definitions } from '@sluice-internal/compile/document';
import { childOf, nearest, quoted, slipOf, suggestion } from '@sluice-internal/compile/source';
import type { Path, Report } from '@sluice-internal/compile/source';
import { parseTemplate, typeFromSchema } from '@sluice-internal/compile/expressions';
import type { Expressions } from '../expressions.ts';
import type { CommonValue, FlowNode } from '../model.ts';

export interface ToolValue extends CommonValue {
  readonly tool: string;
  readonly params: { readonly [name: string]: Json };
}

export function checkParams(
  node: FlowNode<ToolValue>,
  expressions: Expressions,
  definitions: Definitions,
  report: Report,
): void {
  const { value } = node;
  const schema = toolNamed(value.tool, definitions)?.input;
  if (!isRecord(schema)) return;
  checkKeys(node, value, schema, report);
  const checking: Checking = { node, tool: value.tool, root: schema, expressions, report };
  for (const [key, param] of Object.entries(value.params)) {
    const field = fieldOf(schema, key);
    if (field !== undefined) checkValue(checking, param, field, [key]);
  }
}

function checkKeys(node: FlowNode, value: ToolValue, schema: { [key: string]: Json }, report: Report): void {
  const properties = Object.keys(isRecord(schema['properties']) ? schema['properties'] : {});
  const required = Array.isArray(schema['required'])
    ? schema['required'].filter((each) => typeof each === 'string')
    : [];
  const given = Object.keys(value.params);
  const strange =
    schema['additionalProperties'] === false && schema['patternProperties'] === undefined
      ? given.filter((key) => !properties.includes(key))
      : [];
  const meant = new Set<string>();
  for (const key of strange) {
    const near = nearest(key, properties);
    if (near !== undefined) meant.add(near);
    report.error('unknown-key', node.at('params', key), `the tool \`${value.tool}\` takes no \`${key}\``, {
      help: suggestion(near, properties.length === 0 ? 'Remove it.' : `It takes ${quoted(properties)}.`),
    });
  }
  if (node.poisoned('params')) return;
  const isWritten = (key: string): boolean =>
    // A value that could not be read has already been reported.
    given.includes(key) || childOf(node.located('params'), key) !== undefined;
  // A name that is misspelt in the schema has been reported there.
  const isMisspelt = (key: string): boolean => !properties.includes(key) && misspelt(key, properties) !== undefined;
  const others = given.filter((key) => !properties.includes(key));
  for (const key of strange.length > 0 ? [] : others) {
    const slip = slipOf(
      key,
      properties.filter((each) => !isWritten(each) && !required.includes(each)),
    );
    if (slip !== undefined)
      report.warning('unknown-key', node.key('params', key), `the schema of \`${value.tool}\` has no \`${key}\``, {
        help: suggestion(slip, undefined),
      });
  }
  for (const key of required.filter((each) => !isWritten(each) && !meant.has(each) && !isMisspelt(each)))
    reportMissing(node, value.tool, key, others, report);
}

function reportMissing(node: FlowNode, tool: string, key: string, others: readonly string[], report: Report): void {
  const slip = others.find((each) => misspelt(each, [key]) !== undefined);
  const whole = node.at(node.located('params') === undefined ? 'tool' : 'params');
  report.error(
    'missing-field',
    slip === undefined ? whole : node.key('params', slip),
    `\`params\` of flow node '${node.id}' lacks \`${key}\`, which the tool \`${tool}\` needs`,
    { help: slip === undefined ? `Add \`${key}\` to \`params\`.` : `Did you mean \`${key}\`, not \`${slip}\`?` },
  );
}

interface Checking {
  readonly node: FlowNode;
  readonly tool: string;
  readonly root: Json;
  readonly expressions: Expressions;
  readonly report: Report;
}

/** Checks literal values, and those parts of templates whose type is known. */
function checkValue(checking: Checking, value: Json, schema: Json, path: Path): void {
  if (!hasTemplate(value)) return checkLiteral(checking, value, schema, path);
  if (typeof value === 'string') return checkTemplate(checking, value, schema, path);
  const { kind } = typeFromSchema(schema);
  if (kind !== 'any' && kind !== (Array.isArray(value) ? 'list' : 'map'))
    return reportType(checking, path, `must be ${typePhrase([WORDS[kind] ?? kind])}`, undefined);
  if (!isRecord(schema)) return;
  const items = schema['items'];
  if (Array.isArray(value)) {
    if (items !== undefined && schema['prefixItems'] === undefined)
      for (const [index, item] of value.entries()) checkValue(checking, item, items, [...path, index]);
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      const field = fieldOf(schema, key);
      if (field !== undefined) checkValue(checking, item, field, [...path, key]);
    }
  }
}

function checkLiteral(checking: Checking, value: Json, schema: Json, path: Path): void {
  const { node, report, root } = checking;
  for (const { code, path: inner, message, wanted } of argumentProblems(value, schema, root)) {
    const place = [...path, ...inner];
    if (code === 'type-mismatch') reportType(checking, place, message, wanted);
    else
      report.error(code, node.at('params', ...place), `${subject(checking, place)} ${message}`, {
        help: `Correct the value, or the \`input\` schema of \`${checking.tool}\`.`,
      });
  }
}

/** A value that is exactly one template has the type of its expression. Any other template is text. */
function checkTemplate(checking: Checking, value: string, schema: Json, path: Path): void {
  const { node, expressions, report } = checking;
  const { parts } = parseTemplate(value);
  const [only] = parts;
  const given =
    parts.length === 1 && only !== undefined && 'expr' in only ? expressions.kind(node.id, only.expr) : 'string';
  const { kind } = typeFromSchema(schema);
  if (kind === 'any' || given === kind || WORDS[given] === undefined) return;
  report.error(
    'type-mismatch',
    node.at('params', ...path),
    `${subject(checking, path)} must be ${typePhrase([WORDS[kind] ?? kind])}, but \`${value}\` is ${typePhrase([WORDS[given]])}`,
    { help: kind === 'string' ? 'Turn it into text: `{{text(…)}}`.' : 'Read a value of the right type.' },
  );
}

function reportType(checking: Checking, path: Path, message: string, wanted: string | undefined): void {
  const { node, report } = checking;
  const located = node.located('params', ...path);
  const found = located === undefined ? '' : `, but is ${describe(located)}`;
  const quoted = wanted === 'string' && located?.kind === 'scalar' && located.value !== null;
  report.error('type-mismatch', node.at('params', ...path), `${subject(checking, path)} ${message}${found}`, {
    help: quoted ? `Put it in quotes: "${String(located.value)}".` : 'Write a value of the right type.',
  });
}

function subject({ tool }: Checking, path: Path): string {
  return `\`${path.join('.')}\` of the tool \`${tool}\``;
}

/** Kinds of values by their names in JSON Schema. Other kinds are not checked. */
const WORDS: { readonly [kind: string]: string } = {
  string: 'string',
  number: 'number',
  bool: 'boolean',
  list: 'array',
  map: 'object',
};

function hasTemplate(value: Json): boolean {
  if (typeof value === 'string') return parseTemplate(value).parts.some((part) => 'expr' in part);
  if (Array.isArray(value)) return value.some(hasTemplate);
  return isRecord(value) && Object.values(value).some(hasTemplate);
}

function fieldOf(schema: { [key: string]: Json }, key: string): Json | undefined {
  const properties = schema['properties'];
  if (isRecord(properties) && Object.hasOwn(properties, key)) return properties[key];
  return schema['patternProperties'] === undefined ? schema['additionalProperties'] : undefined;
}
