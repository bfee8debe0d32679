/** A button that writes: enabled for those who may, and for others it says what they may not. */
import type { Client } from "@kcp-ts/sdk/client";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { type Access, useAccess } from "../live/index.ts";

interface ActionButtonProps {
  readonly client: Client;
  readonly access: Access;
  readonly type?: "button" | "submit";
  readonly class?: string;
  readonly label?: string | undefined;
  /** False while something else is missing, such as a name. */
  readonly isReady?: boolean;
  readonly onClick?: () => void;
  readonly children: ComponentChildren;
}

export function ActionButton(props: ActionButtonProps) {
  const { client, access, type = "button", label, isReady = true, onClick, children } = props;
  const { isAllowed, refusal } = useAccess(client, access);
  const id = useId();
  return (
    <>
      <button
        type={type}
        class={props.class}
        disabled={!isAllowed || !isReady}
        title={refusal}
        aria-label={label}
        aria-describedby={refusal === undefined ? undefined : id}
        onClick={onClick}
      >
        {children}
      </button>
      {refusal === undefined ? null : (
        <span class="refusal" id={id}>
          {refusal}
        </span>
      )}
    </>
  );
}
