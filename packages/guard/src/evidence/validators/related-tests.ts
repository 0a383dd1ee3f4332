/** Runs the tests of the changed files, and reads their exit code. */
import { invalid, pass, type Evidence, type Validator } from '../evidence.ts';
import type { Fields } from '../artifacts.ts';
import { outcomeOf, tailOf } from '../run.ts';

const TIMEOUT_MS = 120_000;
const FILES_MAX = 20;

export const requireRelatedTestsPass: Validator = async (evidence) => {
  for (const command of commandsOf(evidence)) {
    const ran = await outcomeOf(evidence, command, TIMEOUT_MS);
    if (ran.exitCode !== 0)
      return invalid(
        `The related tests do not pass: \`${command}\` ended with exit code ${ran.exitCode}.\n${tailOf(ran)}`,
      );
  }
  return commandsOf(evidence).length > 0
    ? pass()
    : invalid(
        'There is no command to run the related tests with. Set `TestSelector.FindRelatedCommand` or `TestSelector.FullSuiteCommand`.',
      );
};

/** One command for each changed file, or the whole suite. */
function commandsOf(evidence: Evidence): string[] {
  const selector = (evidence.config['TestSelector'] ?? evidence.config) as Fields;
  const related = textOf(selector['FindRelatedCommand']);
  const suite = textOf(selector['FullSuiteCommand']);
  const files = evidence.filesWritten('session').filter((path) => !path.startsWith('.fuseraft/'));
  if (related !== '' && files.length > 0 && files.length <= FILES_MAX)
    return [...new Set(files.map((path) => related.replaceAll('{file}', () => quoted(path))))];
  return suite === '' ? [] : [suite];
}

/** A file name as one word of a command. */
function quoted(name: string): string {
  const path = name.startsWith('-') ? `./${name}` : name;
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}
