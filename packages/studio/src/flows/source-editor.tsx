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

interface EditorProps {
  readonly text: string;
  readonly diagnostics: readonly Diagnostic[];
  readonly onChange: (text: string) => void;
}

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
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
    const editor = new EditorView({ parent: place.current, state: stateOf(text, change, schema) });
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
      EditorView.contentAttributes.of({ 'aria-label': 'Source' }),
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
