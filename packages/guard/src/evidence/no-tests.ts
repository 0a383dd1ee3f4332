/**
 * Finds test commands that run no test: they only list tests, their filter cannot match a name, or their output says that no test
 * ran. A filter may also name a test that does not exist; only the output shows that.
 */

/** Commands and options that only show what they would do. The key is the start of the command. */
const SHOWING_OF: { readonly [command: string]: readonly string[] } = {
  make: ['-n', '--recon', '-t', '--touch', '-q', '--question'],
  'dotnet test': ['-t'],
  tox: ['-l', '-a', '--notest'],
  nox: ['-l'],
  'go test': ['-n', '-c'],
  ctest: ['-N', '--show-only'],
  gradle: ['-m'],
  gradlew: ['-m'],
  jest: ['--showConfig'],
  pytest: ['--collectonly', '-V'],
};
/** Options for a dry run of a command. */
const SHOWING = new Set(
  '-h -help --help --version --dry-run --list -list --collect-only --co --setup-plan --fixtures --markers --no-run --listTests --list-tests --just-print'.split(
    ' ',
  ),
);
/** Options that leave the tests out without a word in the output: `gradle test -x test`, `mvn -q test -DskipTests`, `go test -exec true`. */
const SKIPPING = [
  /^gradlew? (?:.* )?test (?:.* )?-x test(?: |$)/,
  /^mvnw? (?=.*(?:-q|--quiet)(?: |$))(?=(?:.* )?test(?: |$)).*-D(?:skipTests|maven\.test\.skip)/,
  /^go test .*-exec[ =](?:\S*\/)?(?:true|echo|:)(?: |$)/,
];
const LISTING = new Set(['vitest list', 'cargo nextest', 'dotnet vstest']);
const FILTERS = new Set(['-run', '--run', '-test.run', '-k', '-t', '-g', '--grep', '--filter', '--testNamePattern']);
/** Options with which `go test` has work to do although its filter selects no test. */
const OTHER_WORK = /^-{1,2}(?:test\.)?(?:bench|fuzz)(?:=|$)/;

/** True if the command, without its wrappers, runs no test and does nothing else. */
export function selectsNothing(words: readonly string[]): boolean {
  const [name = '', sub = ''] = words;
  const command = name.slice(name.lastIndexOf('/') + 1);
  if (LISTING.has(`${command} ${sub}`) && words.slice(1, 3).includes('list')) return true;
  const line = [command, ...words.slice(1)].join(' ');
  if (words.some((word) => SHOWING.has(word)) || SKIPPING.some((each) => each.test(line))) return true;
  const showing = SHOWING_OF[`${command} ${sub}`] ?? SHOWING_OF[command] ?? [];
  const own = words.includes('-args') ? words.slice(0, words.indexOf('-args')) : words;
  if (own.some((word) => showing.includes(word) || /^-{1,2}(?:test\.)?list=/.test(word))) return true;
  return own.some((word, at) => isEmptyFilter(word, own[at + 1] ?? '')) && !own.some((word) => OTHER_WORK.test(word));
}

/** The word puts such an option into a variable that the command reads: `GOFLAGS=-run=^$`, `PYTEST_ADDOPTS=--collect-only`. */
export function setsNothing(word: string): boolean {
  const [, options = ''] = /^[A-Z_]*(?:FLAGS|OPTS|OPTIONS|ARGS)=(.*)$/s.exec(word) ?? [];
  return options.split(/\s+/).some((each, at, all) => SHOWING.has(each) || isEmptyFilter(each, all[at + 1] ?? ''));
}

function isEmptyFilter(word: string, next: string): boolean {
  const [, option = word, value = next] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
  return FILTERS.has(option) && MATCHES_NO_NAME.test(value);
}

/** A name has at least one character, so these expressions match none: `^$`, `$^`, `(?!)`, `a^`. */
const MATCHES_NO_NAME = /^(?:\^(?:\(\))?\$|\$\.?\^|\(\?!\)|[a-z.]\^|\\A\\[zZ])$/;

/** True if a text, such as a pattern, names a test runner. */
export function isAboutTests(text: string): boolean {
  return /tests?\b|\b(?:py|unit)?test|jest|mocha|rspec|phpunit|\btox\b|nose2?\b|karma|cypress|playwright|\bspec\b/i.test(
    text,
  );
}

/** True if the output reports that no test ran, and no part of it reports a test. */
export function ranNoTests(output: string): boolean {
  return NONE_RAN.test(uncoloured(output)) && !ranTests(output);
}

/** True if the output reports a test. */
export function ranTests(output: string): boolean {
  return SOME_RAN.test(uncoloured(output));
}

function uncoloured(output: string): string {
  return output.replace(/\u001b\[[\d;]*m/g, '');
}

const NONE_RAN = new RegExp(
  [
    String.raw`\bno tests? (?:to run|files?(?: found)?\]?|found|ran|executed|were (?:found|run|executed)|is available|matches)`,
    String.raw`\btests? are skipped`,
    String.raw`\b(?:ran|running|executed|executing|collected|found|discovered) 0 (?:tests?|items?|examples?|specs?|test cases?)\b`,
    String.raw`(?<![\d.,])0 (?:pass(?:ed|ing)?\b|(?:tests?|examples?|specs?)(?:,| total| from))`,
    String.raw`\btests? run: 0\b`,
    String.raw`^\W*tests:? 0\b`,
    String.raw`^\s*tests?:?\s+\d+ skipped`,
  ].join('|'),
  'im',
);
/** `5 passed`, `Ran 3 tests`, `Tests run: 2`, and the lines of Go and TAP. */
const SOME_RAN = new RegExp(
  [
    String.raw`(?<![\d.])[1-9]\d* (?:pass(?:ed|ing)?|fail(?:ed|ing|ures?)?|tests?|examples?|specs?|items?|scenarios?|assertions?)\b`,
    String.raw`\btests? run: [1-9]`,
    String.raw`^\W*(?:tests|pass):? [1-9]`,
    String.raw`^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?!.*\[no tests to run\])`,
    String.raw`^\s*(?:--- PASS|ok [1-9]\d*\b)`,
  ].join('|'),
  'im',
);
