/** Checks that rules name existing tools and readable conditions: a rule that matches nothing protects nothing. */
import { GUARD_NAMES } from '@sluice-internal/controls';
import { BUILTIN_TOOL_NAMES, isBuiltinTool, lockedTool } from '@sluice-internal/kernel/catalog';
import type { McpLock } from '@sluice-internal/kernel/catalog';
import { DEFAULT_MODEL, isVelocity, onlyReads } from '@sluice-internal/kernel/ir';
import type { EffectClass, FlowBody, Node } from '@sluice-internal/kernel/ir';
import { didYouMean, nearest, slipOf } from '../source/nearest.ts';
import {
  effectOfTool,
  grantedTools,
  isTool,
  ownerOf,
  serverTool,
  type DefinitionOptions,
} from '../document/definitions.ts';
import { checkMemory } from '../document/memory.ts';
import { checkToolApprovers } from '../document/people.ts';
import type { Report } from '../source/diagnostics.ts';
import type { ReadDocument } from '../document/document.ts';
import { reportConditions, reportExpression } from '../expressions/expression.ts';
import type { Path } from '../source/located.ts';
import { providerMeant, toolNames, type KnownTools, type MoreTools } from '../document/names-check.ts';
import type { Boundary } from '../document/schema/bounds.ts';
import type { Sections } from '../document/schema/schema.ts';
import type { Lowered } from '../lower/builder-types.ts';
import { START, type Range } from '../source/range.ts';

/** The checks of the sections that a document and each file of a sub-flow get. */
export function checkRules(
  document: ReadDocument,
  { people, mcpLock }: Pick<DefinitionOptions, 'people' | 'mcpLock'>,
  report: Report,
): void {
  checkToolApprovers(document, people, report);
  checkMemory(document, report);
  checkVerifications(document, mcpLock, report);
  checkServerTools(document, mcpLock, report);
}

export function checkBoundaries({ sections, names }: ReadDocument, report: Report, more?: Partial<MoreTools>): void {
  const known = toolNames(sections.value, names, more);
  checkOne(sections.value.boundary, ['boundary']);
  for (const [index, { boundary }] of (sections.value.agents ?? []).entries())
    checkOne(boundary, ['agents', index, 'boundary']);

  function checkOne(boundary: Boundary | undefined, at: Path): void {
    if (boundary === undefined) return;
    const { allow, approve, deny } = boundary.tools ?? {};
    const { observations, state_writes: writes } = boundary;
    for (const [row, list] of Object.entries({ approve, deny })) checkNames(list, [...at, 'tools', row], known.mayName);
    checkNames(allow, [...at, 'tools', 'allow']);
    checkNames(observations, [...at, 'observations']);
    checkNames(writes, [...at, 'state_writes']);
    const guard = (index: number) => sections.located(...at, 'fail_closed', index, 'when');
    reportConditions(boundary.fail_closed, guard, GUARD_NAMES, report);
  }

  /** `mayName`: a rule that denies or asks covers the bare names of tools of servers too. */
  function checkNames(
    list: readonly string[] | undefined,
    at: Path,
    mayName: KnownTools['mayName'] = () => false,
  ): void {
    for (const [index, name] of (list ?? []).entries()) {
      if (known.has(name) || mayName(name)) continue;
      if (name.includes('*')) checkPattern(name, [...at, index]);
      else
        report.error('unknown-tool', sections.at(...at, index), `unknown tool \`${name}\` in a boundary`, {
          help: known.help(name, 'Declare it under `tools`, or use a pattern such as `mail.*`.'),
        });
    }
  }

  /** A slip is an error. Any other pattern that no tool fits may be meant for tools to come, or to be on the safe side. */
  function checkPattern(pattern: string, at: Path): void {
    if (known.fits(pattern)) return;
    const message = `no tool fits \`${pattern}\` in a boundary`;
    const slip = slipOf(pattern, known.patterns);
    if (slip !== undefined) {
      report.error('unknown-tool', sections.at(...at), message, { help: `Did you mean \`${slip}\`?` });
      return;
    }
    const near = nearest(pattern, known.patterns);
    const similar = near === undefined ? '' : ` The most similar one is \`${near}\`.`;
    report.warning('unknown-tool', sections.at(...at), message, {
      help: `It has no effect until there is such a tool.${similar}`,
    });
  }
}

function checkVerifications({ sections, names }: ReadDocument, lock: McpLock | undefined, report: Report): void {
  const { tools } = sections.value;
  const known = [...Object.keys(tools), ...BUILTIN_TOOL_NAMES];
  for (const [name, { verify, output }] of Object.entries(tools)) {
    if (verify === undefined) continue;
    const at = sections.at('tools', name, 'verify');
    if (isTool(verify, sections.value)) {
      const effect = lookupEffect(verify, sections.value, lock);
      if (!onlyReads(effect) && !sections.poisoned('tools', verify, 'effect'))
        report.error('bad-value', at, `\`${verify}\` looks up calls of \`${name}\`, but its effect is \`${effect}\``, {
          help: 'Name a tool with `effect: read`. A lookup is made without approval.',
        });
    } else if (isMisspeltTool(verify, known) && !names.tools.poisoned)
      report.error('unknown-tool', at, `unknown tool \`${verify}\` on tool \`${name}\``, {
        help: didYouMean(verify, known, 'Declare it under `tools`.'),
      });
    else {
      const context = { names: ['result'], ...(output === undefined ? {} : { types: { result: output } }) };
      reportExpression(verify, sections.located('tools', name, 'verify'), context, report);
    }
  }
}

/** A single name that is not a result, but resembles a tool. */
function isMisspeltTool(verify: string, known: readonly string[]): boolean {
  return /^[\w.-]+$/.test(verify) && !/^result\b/.test(verify) && nearest(verify, known) !== undefined;
}

/** The tools of a trusted server without a lock are known only when it runs. */
function lookupEffect(tool: string, { tools, mcp }: Sections, lock: McpLock | undefined): EffectClass {
  const declared = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  if (declared !== undefined || isBuiltinTool(tool)) return effectOfTool(tool, declared ?? {});
  const server = ownerOf(tool, mcp)?.owner ?? '';
  const isUnknown = mcp[server]?.trusted === true && lock?.servers[server] === undefined;
  return isUnknown ? 'read' : (serverTool(tool, { servers: mcp, mcpLock: lock })?.effect ?? 'write');
}

/** A budget for money needs the price of every model that the flow may call. */
export function checkPrices({ body, places }: Lowered, { sections }: ReadDocument, report: Report): void {
  const reported = new Set<string>();
  for (const [id, node] of Object.entries<Node>(body.nodes)) {
    const limit = moneyLimit(body, node);
    if (limit === undefined) continue;
    for (const alias of modelsOf(node, body)) {
      const model = body.models[alias] as ModelFacts | undefined;
      // An alias without a model gets its model and its price when a run starts.
      if (model === undefined || model.price !== undefined || reported.has(alias)) continue;
      // A misspelt provider is reported for itself.
      if (model.base_url === undefined && providerMeant(model.provider) !== undefined) continue;
      reported.add(alias);
      const declared = sections.value.models?.[alias] !== undefined;
      const at: Range = declared ? sections.at('models', alias) : (places.get(id) ?? START);
      const name = declared ? alias : `${model.provider}/${model.model}`;
      report.error('missing-price', at, `\`${limit}\` limits money, but the price of model \`${name}\` is not known`, {
        help: priceHelp(declared ? alias : null, model),
      });
    }
  }
}

interface ModelFacts {
  readonly provider: string;
  readonly model: string;
  readonly price?: unknown;
  readonly base_url?: unknown;
}

function modelsOf(node: Node, { agents }: FlowBody): readonly string[] {
  if (node.op !== 'do' || node.effect.kind !== 'model') return [];
  return [agents[node.effect.agent]?.model ?? DEFAULT_MODEL, ...(node.retry.fallback?.targets ?? [])];
}

function moneyLimit({ meters }: FlowBody, { charges = [] }: Node): string | undefined {
  // A velocity limit for money does not apply to a model without a price.
  const id = charges.find((each) => {
    const meter = meters[each];
    return meter?.unit === 'costMicros' && meter.max !== null && !isVelocity(meter);
  });
  return id === undefined ? undefined : meters[id]?.label;
}

function priceHelp(alias: string | null, { provider, model }: ModelFacts): string {
  const price = 'price: { input: 0.5, output: 1.5 }';
  const where = 'in US dollars per million tokens. Zero is allowed.';
  if (alias !== null) return `Add \`${price}\` to \`models.${alias}\`, ${where}`;
  return `Declare it under \`models\`, as in \`own: { provider: ${provider}, model: "${model}", ${price} }\`, ${where}`;
}

/** In a flow with a tier, every tool that changes something needs a compensation: a failed run leaves no effect behind. */
export function checkCompensations({ body }: Lowered, { sections }: ReadDocument, report: Report): void {
  const { tools } = sections.value;
  const undoes = new Set(Object.values(tools).flatMap(({ compensate }) => compensate ?? []));
  const isRegulated = body.tier === 'regulated';
  if (body.tier === undefined) return;
  for (const [name, { effect, compensate }] of Object.entries(tools)) {
    if (effect === 'read' || compensate !== undefined || undoes.has(name) || !isCalled(body, name)) continue;
    const message = `\`${name}\` changes something, and no tool undoes it`;
    const help = 'Add `compensate: TOOL`, or `effect: read` if it changes nothing.';
    const at = sections.key('tools', name);
    if (isRegulated) report.error('no-compensation', at, `${message}; the tier \`regulated\` demands one`, { help });
    else report.warning('no-compensation', at, message, { help });
  }
}

function isCalled({ nodes }: FlowBody, tool: string): boolean {
  return Object.values(nodes).some(
    (node) => node.op === 'do' && node.effect.kind === 'tool' && node.effect.tool === tool,
  );
}

/** The tools of MCP servers that agents are granted are known, and their effect is declared. */
function checkServerTools({ sections }: ReadDocument, lock: McpLock | undefined, report: Report): void {
  const { agents = [], tools, mcp } = sections.value;
  const asked = new Set<string>();
  for (const [index, agent] of agents.entries())
    for (const [at, name] of agent.tools.entries()) {
      const path: Path = ['agents', index, 'tools', at];
      checkWildcard(name, path);
      for (const tool of grantedTools([name], sections.value, lock)) checkTool(tool, path);
    }
  for (const [name, { mcp: reference }] of Object.entries(tools)) {
    const [, server = '', tool = ''] = /^([^/]+)\/(.+)$/s.exec(reference ?? '') ?? [];
    if (Object.hasOwn(mcp, server)) checkExists(server, tool, ['tools', name, 'mcp']);
  }

  function checkWildcard(name: string, path: Path): void {
    const server = name.slice(0, -2);
    if (!name.endsWith('.*') || !Object.hasOwn(mcp, server)) return;
    if (lock !== undefined || mcp[server]?.tools !== undefined) return;
    const message = `\`${name}\` grants the tools of the MCP server \`${server}\`, which are not known yet`;
    const help = 'Run `sluice mcp lock FILE`. `sluice run` asks the server if there is no lock.';
    report.warning('unlocked-server', sections.at(...path), message, { help });
  }

  function checkTool(name: string, path: Path): void {
    const found = Object.hasOwn(tools, name) ? undefined : ownerOf(name, mcp);
    if (found === undefined || !checkExists(found.owner, found.tool, path)) return;
    if (mcp[found.owner]?.trusted === true || asked.has(name)) return;
    asked.add(name);
    const message = `the effect of \`${name}\` is not declared, so a call counts as a write`;
    const effect = lockedTool(lock, found.owner, found.tool)?.annotations?.readOnlyHint === true ? 'read' : 'write';
    const help = `Declare it: \`tools: { ${name}: { mcp: ${found.owner}/${found.tool}, effect: ${effect} } }\`. \`trusted: true\` on the server uses its own hints.`;
    report.warning('undeclared-effect', sections.at(...path), message, { help });
  }

  function checkExists(server: string, tool: string, path: Path): boolean {
    const locked = lock?.servers[server];
    if (locked === undefined || lockedTool(lock, server, tool) !== undefined) return true;
    const names = locked.map(({ name }) => name);
    report.error('unknown-tool', sections.at(...path), `the MCP server \`${server}\` has no tool \`${tool}\``, {
      help: didYouMean(tool, names, 'Run `sluice mcp lock FILE` if the server has a new tool.'),
    });
    return false;
  }
}
