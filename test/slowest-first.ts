/**
 * The order of test files: those that take longest come first, so that no worker is left with one of them at the end. A
 * checkout without records of earlier runs would start with the largest files instead.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SLOWEST = [
  'cli/audit-files',
  'chaos/chaos',
  'cli/suites',
  'loop/airline',
  'policy/agentdojo',
  'crash/kill',
  'package/create',
  'journals/read-only',
  'evaluate/budget-stress',
  'cli/fork',
  'tools/mcp-lies',
  'crash/rivals',
  'package/package',
  'tidy/worked-examples',
  'cli/answers',
  'pii/flow',
  'runtime/pinned-code',
  'cli/run',
  'cli/terminal',
  'tidy/build-guards',
  'cli/definition',
].map((name) => `/test/${name}.test.ts`);

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}

function place({ moduleId }: TestSpecification): number {
  const index = SLOWEST.findIndex((name) => moduleId.endsWith(name));
  return index < 0 ? SLOWEST.length : index;
}
