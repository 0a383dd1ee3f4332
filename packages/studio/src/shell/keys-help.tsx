/** All keys that work on this page. */
import type { ReactElement } from 'react';
import { Dialog } from '../ui/dialog.tsx';
import { shortcutGroups } from '../ui/keys.ts';
import { Button } from '../ui/parts.tsx';

const SIGNS: { readonly [key: string]: string } = {
  'Mod+k': '⌘K',
  ArrowLeft: '←',
  ArrowRight: '→',
  'Shift+ArrowLeft': '⇧←',
  'Shift+ArrowRight': '⇧→',
  ' ': 'space',
};

export function KeysHelp({ onClose }: { readonly onClose: () => void }): ReactElement {
  return (
    <Dialog label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      {shortcutGroups().map(({ title, shortcuts }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className="keys">
            {shortcuts.map(({ keys, does }) => (
              <div key={keys} className="key-row">
                <dt>
                  <kbd>{SIGNS[keys] ?? keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <div className="dialog-foot">
        <Button data-autofocus onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
