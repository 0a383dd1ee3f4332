/** Files that commands write: they make a report stale, they own a brief, and a command that only reads writes nothing. */
import { describe, expect, test } from 'vitest';
import { mayWrite, writesOf } from '../../src/evidence/command-writes.ts';
import { BRIEF, REPORT, check, observed, ran, wrote } from './ask.ts';

describe('files that a line names as written', () => {
  test.each<[string, string[]]>([
    ['echo x > a.ts', ['a.ts']],
    ['cat b.ts >> "src/a b.ts"', ['src/a b.ts']],
    ['make 2>&1 | tee build.log', ['build.log']],
    ['cd src && sed -i "s/a/b/" a.ts', ['a.ts']],
    ['perl -pi -e "s/a/b/" a.ts b.ts', ['a.ts', 'b.ts']],
    ['cp x.ts y.ts; mv p.ts q.ts', ['y.ts', 'p.ts', 'q.ts']],
    ['bash -c "echo x > a.ts"', ['a.ts']],
    ['cat > a.py <<EOF\nprint(1) > 2\nEOF', ['a.py']],
    ['echo "x > a.ts"', []],
    ['sed -n 1p a.ts < b.ts', []],
    ['npm test', []],
  ])('%s', (line, paths) => {
    expect(writesOf(line).paths).toEqual(paths);
  });

  test('changes without a name', () => {
    expect(writesOf('git apply fix.patch').changes).toEqual(['git apply fix.patch']);
    expect(writesOf('git checkout -- src').changes).toEqual(['git checkout -- src']);
    expect(writesOf('git checkout -b topic && git status').changes).toEqual([]);
  });

  test.each(['ls', 'cat a | grep x', 'git status', 'echo hi', 'find . -name a', 'sed -n 1p a'])('%s reads', (line) => {
    expect(mayWrite(line)).toBe(false);
  });
  test.each(['make', 'find . -delete', 'echo x > a', 'npm run generate', 'sed -i s/a/b/ a'])('%s may write', (line) => {
    expect(mayWrite(line)).toBe(true);
  });
});

describe('a report and the changes after it', () => {
  const files = { [REPORT]: { results: [{ criterion: 'c', status: 'PASS', command: 'make check' }] }, 'a.py': 'x' };
  const after = (...later: ReturnType<typeof ran>[]) => ({
    files,
    observations: [wrote('a.py'), ran('make check'), wrote(REPORT), ...later],
  });

  test.each([
    ['sed -i s/1/2/ a.py', '`a.py` was changed after it'],
    ['sed -i s/1/2/ ./a.py; false', '`a.py` was changed after it'],
    ['echo x > src/new.py', '`src/new.py` was changed after it'],
    ['git apply fix.patch', '`git apply fix.patch` changed files after it'],
  ])('%s makes it stale', async (command, reason) => {
    for (const name of ['validator:TestReportValid', 'contract:TestReport'])
      expect(await check(name, after(ran(command)))).toMatchObject({
        ok: false,
        failure: 'ConflictingEvidence',
        reason: expect.stringContaining(reason) as string,
      });
  });

  test.each(['ls', 'make lint > lint.log', 'rm -rf dist', 'cp a.py /tmp/a.py', 'git status > /dev/null'])(
    '%s does not',
    async (command) => {
      expect(await check('validator:TestReportValid', after(ran(command)))).toMatchObject({ ok: true });
    },
  );

  test('a command that only reads does not renew a report that a command made', async () => {
    const observations = [ran('make check'), wrote('a.py'), ran('ls')];
    expect(await check('contract:TestReport', { files, observations })).toMatchObject({ ok: false });
    const renewed = [ran('make check'), wrote('a.py'), ran('make check')];
    expect(await check('contract:TestReport', { files, observations: renewed })).toMatchObject({ ok: true });
  });

  test('a command that names the report renews one that a file tool wrote', async () => {
    const observations = [ran('make check'), wrote(REPORT), wrote('a.py'), ran(`make check > ${REPORT}`)];
    expect(await check('contract:TestReport', { files, observations })).toMatchObject({ ok: true });
  });
});

test('a file that was there before counts as written only if a command may have written it', async () => {
  const given = (command: string) => ({
    files: { [BRIEF]: { files_to_change: ['a'] }, a: 'x' },
    observations: [ran(command)],
    config: { Source: BRIEF, Field: 'files_to_change' },
  });
  expect(await check('contract:FilesWritten', given('ls -l a'))).toMatchObject({ ok: false });
  expect(await check('contract:FilesWritten', given('npm run generate'))).toMatchObject({ ok: true });
});

test('a brief that a command wrote belongs to the agent of that command', async () => {
  const files = { [BRIEF]: { goal: 'g', files_to_change: ['a'], acceptance_criteria: ['c'] } };
  const planned = ran(`cat > ${BRIEF} <<EOF\n{}\nEOF`, 0, { agent: 'Planner' });
  const changed = observed('write_file', { path: BRIEF }, { agent: 'Developer', result: {} });
  const forged = ran(`sed -i s/x/y/ ./${BRIEF}`, 0, { agent: 'Developer' });
  expect(await check('validator:RequireBrief', { files, observations: [planned] })).toMatchObject({ ok: true });
  for (const foreign of [changed, forged])
    expect(await check('validator:RequireBrief', { files, observations: [planned, foreign] })).toMatchObject({
      ok: false,
      reason: expect.stringContaining('was changed by Developer, but only Planner') as string,
    });
});

test('a criterion may be called by its description', async () => {
  const files = { [BRIEF]: { acceptance_criteria: [{ id: 1, description: 'adds two numbers' }] } };
  const review = (criterion: string) =>
    JSON.stringify({ review: [{ criterion, verdict: 'PASS', evidence: 'ran it' }] });
  const judged = (response: string) =>
    check('validator:RequireReviewJudgement', { files, response, observations: [ran('make')] });
  expect(await judged(review('Adds two numbers.'))).toMatchObject({ ok: true });
  expect(await judged(review('looks nice'))).toMatchObject({
    reason: expect.stringContaining('There is no entry for `adds two numbers`') as string,
  });
});
