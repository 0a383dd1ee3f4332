/** Every expression of a flow, checked and rewritten once. Reporting happens here; lowering only puts the parts together. */
import type { Expr, Input } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { literal } from '../../expressions/cel-text.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import { parseTemplate } from '../../expressions/template.ts';
import type { Expressions } from './expressions.ts';
import { checkParams, inputOf } from './params.ts';
import type { Flow, FlowNode } from './read.ts';
import { decisionRoutes, guardedRoutes } from './routes.ts';
import type { Route } from './routes.ts';
import type { NodeOf } from './schema.ts';
import { outputOf } from './slots.ts';
import type { Slots } from './slots.ts';

export interface Prepared {
  readonly node: FlowNode;
  readonly routes: readonly Route[];
  readonly branches: readonly Route[];
  /** An agent's prompt, an approval's message, a decision's expression, a terminal's output. */
  readonly expr: Expr;
  /** A tool's arguments. */
  readonly args: Input;
  /** Where the templates of the node look something up. */
  readonly expects: readonly (readonly string[])[];
}

export function prepare(
  flow: Flow,
  expressions: Expressions,
  slots: Slots,
  definitions: Definitions,
  report: Report,
): ReadonlyMap<string, Prepared> {
  const prepared = new Map<string, Prepared>();
  for (const node of flow.nodes.values())
    prepared.set(node.id, prepareNode(node, expressions, slots, definitions, report));
  return prepared;
}

function prepareNode(
  node: FlowNode,
  expressions: Expressions,
  slots: Slots,
  definitions: Definitions,
  report: Report,
): Prepared {
  const { id, value } = node;
  const base = { node, branches: [], expr: 'null', args: {}, expects: expressions.reads(id, written(value)) };
  const routes = (): readonly Route[] => guardedRoutes(node, 'routes', expressions, report);
  switch (value.type) {
    case 'agent':
      return { ...base, expr: prompt(node, value, expressions), routes: routes() };
    case 'tool': {
      checkParams(node, value, expressions, definitions, report);
      const args = Object.entries(value.params).map(
        ([key, param]) => [key, argument(node, value, key, param, expressions, definitions)] as const,
      );
      return { ...base, args: Object.fromEntries(args), routes: routes() };
    }
    case 'parallel':
      return { ...base, branches: guardedRoutes(node, 'branches', expressions, report), routes: routes() };
    case 'approval':
      return {
        ...base,
        expr: asText(value.message, expressions.template(id, node.located('message'), value.message)),
        routes: routes(),
      };
    case 'decision': {
      const checked = expressions.expression(id, node.located('expr'), false);
      const slot = outputOf(slots, id, 'decision');
      return {
        ...base,
        expr: checked?.source ?? 'null',
        routes: decisionRoutes(node, { slot, expr: value.expr, kind: checked?.kind ?? 'any' }, expressions, report),
      };
    }
    case 'terminal': {
      const output = value.output ?? {};
      if (value.routes.length > 0) {
        report.warning(
          'unreachable-route',
          node.at('routes', 0),
          `flow node '${id}' is a terminal, which ends the path, so its routes are never taken`,
          { help: 'Remove the routes, or make it another type of node.' },
        );
      }
      return {
        ...base,
        expr:
          node.located('output') === undefined
            ? literal(output)
            : expressions.template(id, node.located('output'), output),
        routes: routes(),
      };
    }
  }
}

/** What of the node is expanded when it runs. */
function written(value: FlowNode['value']): Json {
  switch (value.type) {
    case 'agent':
      return told(value);
    case 'tool':
      return value.params;
    case 'approval':
      return value.message;
    case 'terminal':
      return value.output ?? null;
    default:
      return null;
  }
}

/** `task`, else `user_message`, else everything as JSON. */
function told({ input }: NodeOf<'agent'>): Json {
  const key = ['task', 'user_message'].find((each) => Object.hasOwn(input, each));
  return key === undefined ? input : (input[key] as Json);
}

function prompt(node: FlowNode, value: NodeOf<'agent'>, expressions: Expressions): Expr {
  const whole = expressions.template(value.id, node.located('input'), value.input);
  const said = told(value);
  return said === value.input ? `text(${whole})` : asText(said, expressions.template(value.id, undefined, said));
}

/** What is missing is empty: an empty text where the tool takes text, null anywhere else. */
function argument(
  node: FlowNode,
  { id, tool }: NodeOf<'tool'>,
  key: string,
  param: Json,
  expressions: Expressions,
  definitions: Definitions,
): Expr {
  const expr = expressions.template(id, node.located('params', key), param);
  const schema = inputOf(tool, definitions) as { properties?: { [name: string]: { type?: Json } } } | undefined;
  const text = schema?.properties?.[key]?.type === 'string' && typeof param === 'string';
  return text && parseTemplate(param).parts.length === 1 && param.includes('{{')
    ? `(${expr} == null ? "" : ${expr})`
    : expr;
}

/** A text with templates in it is text already; a value that is one template keeps its type. */
function asText(value: Json, expr: Expr): Expr {
  if (typeof value !== 'string') return `text(${expr})`;
  const { parts } = parseTemplate(value);
  return parts.length === 1 && parts[0] !== undefined && 'expr' in parts[0] ? `text(${expr})` : expr;
}
