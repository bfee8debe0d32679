/**
 * The tree of workspaces: children are loaded when a workspace is opened, one page of them. Keys as
 * in every tree: up and down, right opens, left closes, Enter goes there.
 */
import { workspaces } from "@kcp-ts/sdk/kinds";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../elements/index.ts";
import { useLoaded } from "../live/index.ts";
import { formatRoute, parentOf } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";

const childrenMax = 200;

function onKey(event: TargetedKeyboardEvent<HTMLUListElement>): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=treeitem] > .node a")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const toggle = items[at]?.parentElement?.querySelector("button");
  const isOpen = toggle?.getAttribute("aria-expanded") === "true";
  if (event.key === "ArrowDown") items[at + 1]?.focus();
  else if (event.key === "ArrowUp") items[at - 1]?.focus();
  else if (event.key === "ArrowRight" && !isOpen) toggle?.click();
  else if (event.key === "ArrowLeft" && isOpen) toggle?.click();
  else return;
  event.preventDefault();
}

export function Tree({ current }: { readonly current: string }) {
  const root = current === "*" ? "root" : (current.split(":")[0] as string);
  return (
    <ul class="tree" role="tree" aria-label="Workspaces" onKeyDown={onKey}>
      <Node path={root} name={root} current={current} />
    </ul>
  );
}

interface NodeProps {
  readonly path: string;
  readonly name: string;
  readonly current: string;
}

function Node({ path, name, current }: NodeProps) {
  const isOnPath = current === path || current.startsWith(`${path}:`);
  const [isOpen, setOpen] = useState(isOnPath);
  useEffect(() => {
    if (isOnPath) setOpen(true);
  }, [isOnPath]);
  return (
    <li role="treeitem" aria-expanded={isOpen} aria-selected={current === path}>
      <div class="node">
        <button
          type="button"
          class="plain twist"
          tabIndex={-1}
          aria-expanded={isOpen}
          aria-label={`Children of ${path}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
        <a
          href={formatRoute({ screen: "workspace", cluster: path })}
          aria-current={current === path ? "location" : undefined}
        >
          {name}
        </a>
      </div>
      {isOpen ? <Children path={path} current={current} /> : null}
    </li>
  );
}

function Children({ path, current }: { readonly path: string; readonly current: string }) {
  const session = useSession();
  // Loaded again when the user goes to this workspace or one of its children.
  const isNear = current === path || parentOf(current) === path;
  const { result, error } = useLoaded(
    (signal) =>
      session.clientIn(path).resource(workspaces).listMetadata({ limit: childrenMax, signal }),
    `${path} ${isNear ? current : ""}`,
  );
  if (error !== undefined) return <p class="quiet">{messageOf(error)}</p>;
  if (result === undefined) return <p class="quiet">Loading…</p>;
  const more = result.metadata.remainingItemCount ?? 0;
  return (
    <ul role="group">
      {result.items.map(({ metadata: { name } }) => (
        <Node key={name} path={`${path}:${name}`} name={name} current={current} />
      ))}
      {more > 0 ? (
        <li class="quiet">
          <a
            href={formatRoute({
              screen: "list",
              cluster: path,
              resource: "workspaces.tenancy.kcp.io",
            })}
          >
            {`${more} more`}
          </a>
        </li>
      ) : null}
    </ul>
  );
}
