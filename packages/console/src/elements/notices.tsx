/** What is said instead of content: errors, waiting, emptiness; and the line for a terminal. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { useState } from "preact/hooks";

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function ErrorNotice({ error }: { readonly error: unknown }) {
  const title = isStatusError(error, "Forbidden") ? "You may not see this" : "This did not work";
  return (
    <div class="notice bad" role="alert">
      <strong>{title}</strong>
      <span dir="auto">{messageOf(error)}</span>
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
