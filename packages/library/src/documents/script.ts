/** Reads a script file. */
import type { Script } from '../host/scripted/script.ts';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { readScript } from '../host/script.ts';
import type { Cli } from './context.ts';
import { mistakesIn, renderAll } from './diagnostics.ts';
import { readText } from './files.ts';

/** Throws the mistakes of the script. With `cli`, prints its warnings. */
export function loadScript(file: string, flow?: CompiledFlow, cli?: Cli): Script {
  const text = readText(file);
  const { script, diagnostics } = readScript(text, file, flow);
  if (script === null) throw mistakesIn(file, text, diagnostics);
  if (diagnostics.length > 0) cli?.hint(renderAll(diagnostics, text, cli.screen));
  return script;
}
