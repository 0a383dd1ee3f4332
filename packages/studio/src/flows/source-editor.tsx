/** The text of a document: YAML with completion from its schema, and its mistakes beside their lines. */
import { autocompletion } from '@codemirror/autocomplete';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic as Mark } from '@codemirror/lint';
import { EditorState, type Text } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { harmless } from '@sluice-internal/wire';
import { useQuery } from '@tanstack/react-query';
import { basicSetup } from 'codemirror';
import { useEffect, useRef, type ReactElement } from 'react';
import { completionsAt } from './complete.ts';
import { schemaQuery, type Diagnostic } from './flow-data.ts';

const LOOK = EditorView.theme({
  '&': { height: '100%', outline: 'none', color: 'var(--text)', backgroundColor: 'var(--panel)' },
  '.cm-scroller': { fontFamily: "'JetBrains Mono', ui-monospace, monospace", fontSize: '12px', lineHeight: '18px' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-gutters': {
    borderRight: '1px solid var(--line)',
    backgroundColor: 'var(--bg)',
    color: 'var(--text-3)',
  },
  '.cm-activeLine, .cm-activeLineGutter': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)',
  },
  '.cm-activeLineGutter': { color: 'var(--text-2)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--accent) 22%, transparent)',
  },
  '.cm-tooltip, .cm-panels': {
    border: '1px solid var(--line)',
    borderRadius: '6px',
    backgroundColor: 'var(--panel)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-high)',
  },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { background: 'var(--accent)', color: 'var(--on-accent)' },
  // The marks of the library are images inside its styles, which the policy of the page does not load.
  '.cm-lint-marker': { width: '8px', height: '8px', margin: '5px 2px', borderRadius: '50%' },
  '.cm-lint-marker.cm-lint-marker-error': { content: '""', backgroundColor: 'var(--failed)' },
  '.cm-lint-marker.cm-lint-marker-warning': { content: '""', backgroundColor: 'var(--waiting)' },
  '.cm-lintRange.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--failed) 1px' },
  '.cm-lintRange.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--waiting) 1px',
  },
  '.cm-diagnostic': { maxWidth: '60ch', fontFamily: "'Inter', sans-serif", fontSize: '13px' },
});

interface EditorProps {
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  readonly onChange: (text: string) => void;
}

const COLOURS = HighlightStyle.define([
  {
    tag: [tags.propertyName, tags.definition(tags.propertyName)],
    color: 'color-mix(in srgb, var(--accent) 72%, var(--text))',
  },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--waiting)' },
  { tag: tags.comment, color: 'var(--text-3)' },
  { tag: [tags.separator, tags.punctuation, tags.meta], color: 'var(--text-2)' },
]);

export function SourceEditor({ text, diagnostics, onChange }: EditorProps): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const change = useRef(onChange);
  const schema = useRef<unknown>(null);
  const { data } = useQuery(schemaQuery);
  useEffect(() => {
    change.current = onChange;
    schema.current = data ?? null;
  });
  useEffect(() => {
    if (place.current === null) return undefined;
    // In a shadow root the styles of the editor are style sheets of the page: the policy allows no others.
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: 'open' });
    const editor = new EditorView({ parent: root, root, state: stateOf(text, change, schema) });
    view.current = editor;
    return () => editor.destroy();
    // The editor owns its text after that.
    // oxlint-disable-next-line react/exhaustive-deps
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (editor === null || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    if (editor !== null) editor.dispatch(setDiagnostics(editor.state, marksIn(editor.state.doc, diagnostics)));
  }, [diagnostics]);
  return <div ref={place} className="editor" />;
}

interface Box<Value> {
  readonly current: Value;
}

function stateOf(text: string, change: Box<(text: string) => void>, schema: Box<unknown>): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      basicSetup,
      yaml(),
      lintGutter(),
      LOOK,
      syntaxHighlighting(COLOURS),
      autocompletion({
        override: [
          (context) => {
            const line = context.state.doc.lineAt(context.pos);
            const found = completionsAt(
              schema.current,
              context.state.doc.toString(),
              line.number,
              context.pos - line.from,
            );
            if (found === null || (found.typed === '' && !context.explicit)) return null;
            return {
              from: context.pos - found.typed.length,
              options: found.options.map(({ label, info, isKey }) => ({
                ...{ label, type: isKey ? 'property' : 'enum', apply: isKey ? `${label}: ` : label },
                ...(info === null ? {} : { info }),
              })),
            };
          },
        ],
      }),
      EditorView.contentAttributes.of({ 'aria-label': 'Source', tabindex: '0' }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) change.current(update.state.doc.toString());
      }),
    ],
  });
}

/** Lines and columns of the server count from 1. A text that has changed since may be shorter. */
function marksIn(doc: Text, diagnostics: readonly Diagnostic[]): readonly Mark[] {
  const at = (line: number, column: number): number => {
    const { from, to } = doc.line(Math.max(1, Math.min(doc.lines, line)));
    return Math.min(to, from + Math.max(0, column - 1));
  };
  return diagnostics.map(({ severity, message, help, code, line, column, endLine = line, endColumn = column + 1 }) => {
    const from = at(line, column);
    return {
      ...{ from, to: Math.max(from, at(endLine, endColumn)), severity },
      message: harmless(`${message}${help === undefined ? '' : `. ${help}`} (${code})`),
    };
  });
}
