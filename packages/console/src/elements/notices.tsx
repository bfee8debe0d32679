/** What is said instead of content: errors, waiting, emptiness; and the line for a terminal. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

import { LongText } from "./long-text.tsx";

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface ErrorNoticeProps {
  readonly error: unknown;
  /** What is missing because of it. */
  readonly what?: string | undefined;
}

export function ErrorNotice({ error, what = "this" }: ErrorNoticeProps) {
  const title = isStatusError(error, "Forbidden")
    ? `You may not see ${what}`
    : what === "this"
      ? "This did not work"
      : `The server does not say: ${what}`;
  return (
    <div class="notice bad" role="alert">
      <strong>{title}</strong>
      <span>
        <LongText text={messageOf(error)} charactersMax={2000} />
      </span>
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="quiet" role="status">
      {`Loading ${what}…`}
    </p>
  );
}

interface PartProps {
  readonly what: string;
  readonly of:
    | { readonly health: { readonly hasSynced: boolean; readonly lastError?: unknown } }
    | undefined;
  readonly children?: ComponentChildren;
}

/** A part of a page that follows the server: what is missing is said until it is there. */
export function Part({ what, of, children }: PartProps) {
  const { hasSynced = false, lastError } = of?.health ?? {};
  if (hasSynced) return <>{children}</>;
  if (lastError === undefined) return <Loading what={what} />;
  return <ErrorNotice error={lastError} what={what} />;
}

export function Empty({ what, next }: { readonly what: string; readonly next: string }) {
  return (
    <div class="empty">
      <p>{what}</p>
      <KubectlLine line={next} />
    </div>
  );
}

/** The same in a terminal. */
export function KubectlLine({ line }: { readonly line: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(line).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <div class="kubectl">
      <code>{line}</code>
      <button type="button" class="plain" onClick={copy} aria-label={`Copy: ${line}`}>
        {isCopied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
