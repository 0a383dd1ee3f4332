/**
 * The hands of a run: real tools in its work directory, and checks that read the evidence there. What a document declares
 * without saying how it is done is left to whoever stands in for it.
 */
import { join } from 'node:path';
import { evidencePerformer } from './evidence/performer.ts';
import { isPolicyCheck, policyPerformer } from './policy/performer.ts';
import { toolPerformer } from './tools/performer.ts';
import type { ToolOptions } from './tools/tool.ts';
import { shellRunner } from './tools/sandbox.ts';
import { isBuiltinTool } from '../catalog/builtin-tools.ts';
import type { CompiledFlow } from '../ir/nodes.ts';
import { isMemoryCheck, memoryPerformer } from './memory/memory.ts';
import type { Performer } from '../runtime/ports.ts';
import { createMemoryStore } from './memory/store.ts';
import type { MemoryStore } from './memory/store.ts';

export interface HandsOptions extends Omit<ToolOptions, 'workDir'> {
  /** Where every run works. Default: a folder of its own for each under `.sluice/work`. */
  readonly workDir?: string;
  /** Where what is remembered across runs is kept. Default: as long as the process lives. */
  readonly memory?: MemoryStore;
}
export interface Hands extends Performer {
  /** Ends whatever was started, such as MCP servers. */
  close(): Promise<void>;
}

export function createHands(options: HandsOptions, absent: Performer): Hands {
  const { workDir: given, memory: kept = createMemoryStore(), ...rest } = options;
  const workDir = (run: string): string => given ?? join('.sluice', 'work', run);
  const tools = toolPerformer({ ...rest, workDir });
  const checks = evidencePerformer({
    workDir,
    documentDir: options.documentDir ?? '.',
    run: shellRunner(options.shell),
  });
  const policy = policyPerformer();
  const memory = memoryPerformer(kept);
  return {
    perform: (call) => {
      const { kind, name } = call.command;
      if (isPolicyCheck(call.command)) return policy.perform(call);
      if (isMemoryCheck(call.command)) return memory.perform(call);
      if (kind === 'check') return checks.perform(call);
      return kind === 'tool' && isImplemented(call.flow, name) ? tools.perform(call) : absent.perform(call);
    },
    close: () => tools.close(),
  };
}

/** Whether a tool can be run as it is declared, without anybody standing in for it. */
export function isImplemented(flow: CompiledFlow, name: string): boolean {
  const declared = Object.hasOwn(flow.tools, name) ? flow.tools[name] : undefined;
  return declared === undefined ? isBuiltinTool(name) : declared.implementation !== null || isBuiltinTool(name);
}
