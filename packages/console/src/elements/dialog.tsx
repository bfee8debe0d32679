/** A modal dialog: the browser's own, which keeps the focus inside and gives it back. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Dialog({ title, onClose, children, isWide = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // What is to be filled in comes first, not the way out.
    dialog?.querySelector<HTMLElement>("input, textarea, select")?.focus();
    // The browser gives the focus back when a dialog is closed, and not when it is removed.
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} class={isWide ? "broad" : ""} aria-label={title} onClose={onClose}>
      <header>
        <h2 dir="auto">{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
