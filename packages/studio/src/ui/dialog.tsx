/** A dialog of the browser: it holds the focus, and Escape closes it. */
import { useEffect, useRef, type ReactElement, type ReactNode } from 'react';

interface DialogProps {
  readonly label: string;
  readonly onClose: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Dialog({ label, onClose, className = '', children }: DialogProps): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    // What asks to be careful has the focus, not the first button.
    current?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`dialog ${className}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={({ target }) => {
        if (target === dialog.current) onClose();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.stopPropagation();
      }}
    >
      {children}
    </dialog>
  );
}
