/** Commands that a check itself runs in the sandbox. */
import { PerformError } from '@sluice-internal/engine/ports';
import type { Evidence, Ran } from './evidence.ts';

const OUTPUT_MAX = 2_000;

/** A command that takes too long ended with -1. */
export async function outcomeOf(evidence: Evidence, command: string, timeoutMs: number): Promise<Ran> {
  try {
    return await evidence.run(command, timeoutMs);
  } catch (error) {
    if (error instanceof PerformError && error.type === 'TimeoutError')
      return { exitCode: -1, stdout: '', stderr: error.message };
    throw error;
  }
}

export function tailOf({ stdout, stderr }: Ran): string {
  return `${stdout}${stderr}`.trim().slice(-OUTPUT_MAX);
}
