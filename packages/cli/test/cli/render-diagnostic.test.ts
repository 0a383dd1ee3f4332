import { expect, test } from 'vitest';
import { createReport, createSource } from '@sluice-internal/compile/source';
import picocolors from 'picocolors';
import { renderDiagnostic } from '../../../library/src/documents/diagnostics.ts';

const plain = picocolors.createColors(false);
const colored = picocolors.createColors(true);

function rendered(text: string, word: string, colors = plain) {
  const report = createReport(createSource(text, 'demo.flow.yaml'));
  const start = text.indexOf(word);
  report.error('unknown-target', { start, end: start + word.length }, `unknown target '${word}'`, {
    help: 'Did you mean `end`?',
    related: [{ message: 'declared here', at: { start: 0, end: 1 } }],
  });
  return renderDiagnostic(report.list()[0]!, text, colors);
}

test('shows the line with a mark under the place, the help and the page', () => {
  expect(rendered('a: 1\nb:\n  to: finsh # x\n', 'finsh')).toBe(
    [
      "error[unknown-target]: unknown target 'finsh'",
      ' --> demo.flow.yaml:3:7',
      '  |',
      '3 |   to: finsh # x',
      '  |       ^^^^^',
      '  = note: declared here: demo.flow.yaml:1:1',
      '  = help: Did you mean `end`?',
      '  = see docs/errors/unknown-target.md',
    ].join('\n'),
  );
});

test('lines up under wide characters and tabs, and cuts long lines around the place', () => {
  const wide = rendered('to: "日本" finsh', 'finsh').split('\n');
  expect(wide[4]).toBe(`  |${' '.repeat(12)}^^^^^`);
  const long = rendered(`${'x'.repeat(500)}finsh${'y'.repeat(500)}`, 'finsh').split('\n');
  expect(long[3]?.length).toBeLessThan(130);
  expect(long[3]?.slice(long[4]?.indexOf('^'))).toMatch(/^finsh/);
});

test('marks a range of many lines on its first, and leaves the excerpt out without a text', () => {
  const report = createReport(createSource('ab: x\ncd: y\n', 'a.yaml'));
  report.warning('never-holds', { start: 0, end: 11 }, 'it never holds');
  const diagnostic = report.list()[0]!;
  expect(renderDiagnostic(diagnostic, 'ab: x\ncd: y\n', plain)).toContain('  | ^^^^^\n');
  expect(renderDiagnostic(diagnostic, undefined, plain)).toBe(
    'warning[never-holds]: it never holds\n --> a.yaml:1:1\n  = see docs/errors/never-holds.md',
  );
});

test('colour is there only when asked for, and control characters never', () => {
  expect(rendered('to: finsh', 'finsh', colored)).toContain(colored.bold(colored.red('error[unknown-target]')));
  expect(rendered('to: \u001B[2Jfinsh', '\u001B[2Jfinsh')).not.toContain('\u001B');
});

test('a report lists its findings in the order of the text, each once', () => {
  const report = createReport(createSource('one\ntwo\n', 'a.yaml'));
  report.warning('never-holds', { start: 4, end: 5 }, 'second');
  report.error('unknown-key', { start: 0, end: 1 }, 'first');
  report.error('unknown-key', { start: 0, end: 1 }, 'first');
  expect(report.list().map((each) => each.message)).toEqual(['first', 'second']);
  expect(report.failed()).toBe(true);
});
