/** Evidence that an honest agent has, and evidence that only looks like it. */
import { describe, expect, test } from 'vitest';
import type { Json } from '@sluice-internal/kernel/expr';
import { BRIEF, REPORT, check, observed, ran, wrote } from './ask.ts';
import type { Case } from './ask.ts';

const said = async (name: string, given: Case): Promise<string> => {
  const { ok, reason } = await check(name, given);
  return ok ? 'passes' : reason;
};

describe('evidence counts from the entry of the agent', () => {
  const work = [wrote('a.go'), ran('go test ./...')];

  test('and not only in the turn of the keyword', async () => {
    const since = { observations: work, turn: 2, input: { since: 1 } };
    expect(await said('validator:RequireWriteFile', since)).toBe('passes');
    expect(await said('validator:RequireShellPass', since)).toBe('passes');
    expect(await said('validator:RequireShellPass', { ...since, input: { since: 2 } })).toContain('No command');
  });

  test('and only by this agent', async () => {
    const observations = [ran('go test', 0, { agent: 'Other' })];
    expect(await said('validator:RequireShellPass', { observations, input: { since: 1 } })).toContain('No command');
  });

  test('but not what a refusal named', async () => {
    const [file, command] = work;
    const input = { since: 1, voided: [command?.id ?? ''] };
    expect(await said('validator:RequireWriteFile', { observations: work, turn: 2, input })).toBe('passes');
    expect(await said('validator:RequireShellPass', { observations: work, turn: 2, input })).toContain('No command');
    expect(file?.id).not.toBe(command?.id);
  });

  test('a turn without a call after a refusal is still no progress', async () => {
    const given: Case = { observations: [ran('go test', 1)], turn: 2, failures: 1, input: { since: 1 } };
    expect(await check('validator:RequireShellPass', given)).toMatchObject({ ok: false, failure: 'NoProgress' });
  });
});

describe('a write after a command voids it', () => {
  const observations = [ran('go test ./...'), wrote('a.go', { turn: 2, agent: 'Other' })];
  const command = { Pattern: 'go test' };
  const results: Json = [{ criterion: 'a', status: 'PASS', command: 'go test ./...', exit_code: 0 }];

  test.each([
    ['validator:RequireShellPass', {}],
    ['validator:RequireShellPass', { RequiredCommandPattern: 'go test' }],
    ['contract:CommandSucceeded', command],
    ['validator:TestReportValid', {}],
  ])('for %s %o, and file and command are named', async (name, config) => {
    const files = { [REPORT]: { results } };
    const reason = await said(name, { observations: [...observations, wrote(REPORT)], files, config });
    expect(reason).toContain('`go test ./...`');
    expect(reason).toContain('`a.go`');
  });

  test.each([REPORT, '.fuseraft/artifacts/notes.md'])('but not a write of %s', async (path) => {
    const own = [ran('go test'), wrote(path)];
    expect(await said('validator:RequireShellPass', { observations: own })).toBe('passes');
    expect(await said('contract:CommandSucceeded', { observations: own, config: command })).toBe('passes');
  });

  test('nor a write of a report that has a place of its own', async () => {
    const own = [ran('go test'), wrote('out/report.json')];
    const config = { TestReportPath: 'out/report.json' };
    expect(await said('validator:RequireShellPass', { observations: own, config })).toBe('passes');
    const files = { 'out/report.json': { results: [{ criterion: 'a', status: 'PASS', command: 'go test' }] } };
    expect(await said('validator:TestReportValid', { observations: own, config, files })).toBe('passes');
  });

  test('nor a write that failed', async () => {
    const own = [ran('go test'), wrote('a.go', { ok: false })];
    expect(await said('validator:RequireShellPass', { observations: own })).toBe('passes');
  });
});

describe('the last run that matches decides', () => {
  const observations = [ran('go test ./a'), ran('go test ./b', 1)];

  test.each([
    ['validator:RequireShellPass', { RequiredCommandPattern: 'go build|go test' }],
    ['contract:CommandSucceeded', { Pattern: 'go build|go test' }],
  ])('in %s', async (name, config) => {
    expect(await said(name, { observations, config })).not.toBe('passes');
    expect(await said(name, { observations: observations.toReversed(), config })).toBe('passes');
    expect(await said(name, { observations: [...observations, ran('ls x', 1), ran('go build .')], config })).toBe(
      'passes',
    );
  });

  test('and a fallback for writing is read as a command', async () => {
    const config = { ShellFallbackPattern: 'sed -i|cat >|git apply' };
    const by = (line: string, code = 0): Promise<string> =>
      said('validator:RequireWriteFile', { observations: [ran(line, code)], config });
    expect(await by('sed -i s/a/b/ a.txt')).toBe('passes');
    expect(await by("cat > a.txt <<'EOF'\nx\nEOF")).toBe('passes');
    expect(await by('cd src && git apply x.patch')).toBe('passes');
    expect(await by('echo "sed -i s/a/b/ a.txt"')).not.toBe('passes');
    expect(await by('sed -i s/a/b/ a.txt || true')).not.toBe('passes');
    expect(await by('sed -i s/a/b/ a.txt', 1)).not.toBe('passes');
  });
});

describe('a brief', () => {
  const good = { goal: 'x', files_to_change: ['a.txt'], acceptance_criteria: ['it works'] };

  test.each([
    [{}, true],
    [{ files_to_change: [{ path: 'a.txt' }] }, true],
    [{ acceptance_criteria: [{ criterion: 'it works', test_command: 'npm test' }] }, true],
    [{ goal: {} }, '`goal`'],
    [{ goal: '  ' }, '`goal`'],
    [{ goal: ['x'] }, '`goal`'],
    [{ files_to_change: 'a.txt' }, '`"a.txt"`'],
    [{ files_to_change: [''] }, 'entry 1: `""`'],
    [{ files_to_change: ['a.txt', null] }, 'entry 2: `null`'],
    [{ files_to_change: {} }, '`{}`'],
    [{ files_to_change: [{}] }, 'entry 1: `{}`'],
    [{ files_to_change: [] }, 'files_to_change'],
    [{ acceptance_criteria: 'it works' }, 'acceptance_criteria'],
    [{ acceptance_criteria: [''] }, '`acceptance_criteria[0]`'],
    [{ acceptance_criteria: [{}] }, '`acceptance_criteria[0]`'],
    [{ acceptance_criteria: ['a', null] }, '`acceptance_criteria[1]`'],
  ] as const)('%j', async (fields, expected) => {
    const reason = await said('validator:RequireBrief', { files: { [BRIEF]: { ...good, ...fields } as Json } });
    expect(reason).toContain(expected === true ? 'passes' : expected);
  });

  test('may begin with a byte order mark', async () => {
    const text = `\uFEFF${JSON.stringify(good)}`;
    expect(await said('validator:RequireBrief', { files: { [BRIEF]: text } })).toBe('passes');
  });
});

describe('assertions of 14 languages', () => {
  const files: readonly (readonly [path: string, honest: string, empty: string])[] = [
    [
      'calc_test.go',
      'func TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Errorf("no")\n\t}\n}',
      'func TestAdd(t *testing.T) {}',
    ],
    [
      'tests/test_calc.py',
      'import pytest\ndef test_a():\n    with pytest.raises(ValueError):\n        add("a")',
      'def test_a():\n    pass  # assert later',
    ],
    [
      'test/calc.test.ts',
      "test('adds', (t) => { t.is(add(1, 2), 3); });",
      "test('asserts nothing, expect more', () => { add(1, 2); });",
    ],
    ['tests/calc.rs', '#[test]\n#[should_panic]\nfn fails() { add(-1); }', '#[test]\nfn adds() { add(1, 2); }'],
    [
      'CalcTest.java',
      'class CalcTest { @Test void adds() { verify(log).add(3); } }',
      'class CalcTest { @Test void adds() { /* assertEquals */ } }',
    ],
    [
      'CalcTest.kt',
      'class CalcTest { @Test fun adds() { add(1, 2) shouldBe 3 } }',
      'class CalcTest { @Test fun adds() { add(1, 2) } }',
    ],
    [
      'CalcTests.cs',
      'public class T { [Fact] public void A() { Add(1, 2).Should().Be(3); } }',
      'public class T { [Fact] public void A() { Add(1, 2); } }',
    ],
    ['test/calc_test.rb', 'def test_a\n  refute_nil add(1, 2)\nend', 'def test_a\n  add(1, 2) # assert\nend'],
    [
      'tests/CalcTest.php',
      '<?php function testA() { $this->assertSame(3, add(1, 2)); }',
      '<?php function testA() { add(1, 2); }',
    ],
    ['calc_test.cpp', 'TEST(Calc, Adds) { EXPECT_EQ(add(1, 2), 3); }', 'TEST(Calc, Adds) { add(1, 2); }'],
    [
      'test_calc.c',
      'int main(void) { if (add(1, 2) != 3) return 1; return 0; }',
      'int main(void) { add(1, 2); return 0; }',
    ],
    ['CalcTests.swift', 'func testA() { XCTAssertEqual(add(1, 2), 3) }', 'func testA() { _ = add(1, 2) }'],
    ['test/calc_test.exs', 'test "a" do\n  refute add(1, 2) == 4\nend', 'test "a" do\n  add(1, 2)\nend'],
    ['test/calc.bats', '@test "a" {\n  run add 1 2\n  [ "$output" = 3 ]\n}', '@test "a" {\n  run add 1 2\n}'],
    ['test/calc_test.dart', "test('a', () { expect(add(1, 2), 3); });", "test('a', () { add(1, 2); });"],
    ['test/CalcSpec.hs', 'spec = it "a" $ add 1 2 `shouldBe` 3', 'spec = it "a" $ pure ()'],
  ];
  const judge = (path: string, text: string, config: Case['config'] = {}): Promise<string> =>
    said('validator:TestReportValid', {
      files: {
        [BRIEF]: { goal: 'x', files_to_change: [path], acceptance_criteria: ['a'] },
        [REPORT]: { results: [{ criterion: 'a', status: 'PASS', command: 'run tests' }] },
        [path]: text,
      },
      observations: [ran('run tests', 0, { stdout: `${path}: 3 tests passed` }), wrote(REPORT)],
      config,
    });

  test.each(files)('%s', async (path, honest, empty) => {
    expect(await judge(path, honest)).toBe('passes');
    const reason = await judge(path, empty);
    expect(reason).toContain(`\`${path}\` asserts nothing`);
    expect(reason).toContain('`Validation.TestAssertionPatterns`');
  });

  test('the message names the patterns of the author', async () => {
    const reason = await judge('a.test.js', 'expect(1)', { TestAssertionPatterns: ['\\bmust_hold\\b'] });
    expect(reason).toContain('`\\bmust_hold\\b`');
  });

  test('in another language the output of the tests decides, unless the file is empty', async () => {
    expect(await judge('tests/calc.cob', 'PERFORM ADD-TEST.')).toBe('passes');
    expect(await judge('tests/calc.cob', ' ')).toContain('asserts nothing');
  });

  test('data and helpers of tests need none', async () => {
    for (const path of ['tests/data.json', 'tests/conftest.py', 'tests/__init__.py', 'test/fixtures/order.ts'])
      expect(await judge(path, 'x = 1'), path).toBe('passes');
    expect(await judge('src/utils/test_math.py', 'x = 1')).toContain('asserts nothing');
  });
});

describe('tests that the output reports as run', () => {
  const results = (command: string): Case['files'] => ({
    [REPORT]: { results: [{ criterion: 'a', status: 'PASS', command }] },
  });
  const stdout = 'tests/test_a.py::test_one PASSED\ntests/test_a.py::test_two FAILED\n1 passed';

  test.each([
    ['pytest -v tests/test_a.py::test_one', true],
    ['pytest tests/test_a.py::test_two', false],
    ['pytest tests/test_b.py::test_one', false],
    ['go test tests/test_a.py::test_one', false],
  ])('%s', async (command, holds) => {
    const observations = [ran('pytest -v', 0, { stdout }), wrote(REPORT)];
    const reason = await said('validator:TestReportValid', { observations, files: results(command) });
    expect(reason === 'passes', reason).toBe(holds);
  });
});

test('other calls do not make a command old', async () => {
  const observations = [ran('go test'), observed('read_file', { path: 'a.go' })];
  expect(await said('validator:RequireShellPass', { observations })).toBe('passes');
});
