/** The audit events of the server as they happen, for those who may read them. */

import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { isStatusError } from "@kcp-ts/machinery/status";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { DataTable, ErrorNotice, KubectlLine, shellLine, Tone } from "../elements/index.ts";
import { setQuery } from "../navigation/index.ts";
import { useSession } from "../session/index.ts";
import { streamedLines } from "../streams/index.ts";
import type { ScreenProps } from "./console.tsx";

interface AuditEvent {
  readonly kind: string;
  readonly count?: number;
  readonly auditID?: string;
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly stageTimestamp?: string;
  readonly sourceIPs?: readonly string[];
  readonly user?: { readonly username?: string };
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

const keptMax = 2000;
const retryMs = 2000;
const columns = [
  { name: "Time", width: 16 },
  { name: "User", width: 30 },
  { name: "Workspace", width: 20 },
  { name: "Verb", width: 12 },
  { name: "Request", width: 60 },
  { name: "Result", width: 10 },
  { name: "Decision", width: 12 },
  { name: "From", width: 18 },
];

/** Events of this page's own reading would show themselves for ever. */
function isOwn({ requestURI = "" }: AuditEvent): boolean {
  return requestURI.startsWith("/audit");
}

function useAuditEvents(cluster: string, isPaused: boolean) {
  const { server } = useSession();
  const events = useRef<AuditEvent[]>([]);
  const [error, setError] = useState<unknown>(undefined);
  const [state, setState] = useState("Connecting…");
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (isPaused) return setState("Paused.");
    const leaving = new AbortController();
    const { signal } = leaving;
    let frame = 0;
    const add = (event: AuditEvent) => {
      if (isOwn(event)) return;
      events.current.unshift(event);
      events.current.length = Math.min(events.current.length, keptMax);
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw(undefined);
      });
    };
    const path = cluster === "" ? "/audit" : `/audit?cluster=${encodeURIComponent(cluster)}`;
    const run = async () => {
      while (!signal.aborted) {
        try {
          setState("Following.");
          for await (const line of streamedLines(server, path, signal))
            if (line !== "") add(eventOf(line));
          setState("The server has ended the stream; trying again…");
        } catch (failure) {
          signal.throwIfAborted();
          if (isStatusError(failure)) throw failure;
          setState("Connection lost, trying again…");
        }
        await sleep(systemClock, retryMs, signal);
      }
    };
    run().catch((failure: unknown) => {
      if (!signal.aborted) setError(failure);
    });
    return () => {
      leaving.abort();
      cancelAnimationFrame(frame);
    };
  }, [cluster, isPaused]);
  return { events: events.current, error, state };
}

/** A line that was cut for its length is shown as what it is. */
function eventOf(line: string): AuditEvent {
  try {
    return parseBounded(bounds.auditBody, line) as unknown as AuditEvent;
  } catch {
    return { kind: "Event", requestURI: "an event that is too long to be shown" };
  }
}

export function AuditScreen({ route: { query } }: ScreenProps) {
  const [isPaused, setPaused] = useState(false);
  const { of = "", text = "" } = query;
  const { events, error, state } = useAuditEvents(of, isPaused);
  const words = text.toLowerCase();
  const shown = events.filter((event) => searchText(event).includes(words));
  return (
    <>
      <header class="title">
        <h1>Audit</h1>
        {error === undefined ? (
          <button type="button" onClick={() => setPaused(!isPaused)}>
            {isPaused ? "Follow" : "Pause"}
          </button>
        ) : null}
      </header>
      <KubectlLine
        line={shellLine`kubectl --context shard-base get --raw ${of === "" ? "/audit" : `/audit?cluster=${of}`}`}
      />
      {error !== undefined ? (
        <Unreadable error={error} />
      ) : (
        <>
          <AuditFilters of={of} text={text} />
          <p class="quiet" role="status">
            {`${state} ${shown.length} of ${events.length === keptMax ? `the newest ${keptMax}` : events.length} events; what happened before this page was opened is in the log of the server.`}
          </p>
          <DataTable
            label="Audit events, the newest first"
            columns={columns}
            count={shown.length}
            row={(index) => rowOf(shown[index] as AuditEvent, index)}
          />
        </>
      )}
    </>
  );
}

function Unreadable({ error }: { readonly error: unknown }) {
  if (isStatusError(error, "NotFound"))
    return (
      <div class="empty">
        <p>This server records no audit events: it has no policy.</p>
        <KubectlLine line="kcp start --audit-policy-file policy.yaml --audit-log-path audit.log" />
      </div>
    );
  return (
    <>
      <ErrorNotice error={error} />
      <p>
        Audit events are of the server, and of all its tenants. To read them, a user needs the verb
        get on the path /audit in the workspace root:
      </p>
      <KubectlLine line="kubectl create clusterrole audit-reader --verb=get --non-resource-url=/audit" />
    </>
  );
}

function AuditFilters({ of, text }: { readonly of: string; readonly text: string }) {
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        Workspace
        <input
          value={of}
          placeholder="all"
          onChange={(event) => setQuery({ of: event.currentTarget.value.trim() })}
        />
      </label>
      <label>
        Contains
        <input
          value={text}
          placeholder="delete"
          onInput={(event) => setQuery({ text: event.currentTarget.value })}
        />
      </label>
    </form>
  );
}

function workspaceOf({ annotations = {} }: AuditEvent): string {
  return annotations["tenancy.kcp.io/workspace"] ?? annotations["kcp.io/cluster"] ?? "";
}

function searchText(event: AuditEvent): string {
  const { user, verb, requestURI, responseStatus } = event;
  const parts = [user?.username, workspaceOf(event), verb, requestURI, responseStatus?.code];
  return parts.join(" ").toLowerCase();
}

function rowOf(event: AuditEvent, index: number) {
  const { auditID, stage, stageTimestamp = "", user, verb = "", requestURI = "" } = event;
  if (event.kind === "EventsDropped")
    return {
      key: `dropped ${index}`,
      cells: ["", "", "", "", `${event.count} events were too many`],
    };
  const code = event.responseStatus?.code;
  const decision = event.annotations?.["authorization.k8s.io/decision"] ?? "";
  return {
    key: `${auditID} ${stage}`,
    cells: [
      stageTimestamp.slice(11, 23),
      user?.username ?? "",
      workspaceOf(event),
      verb,
      requestURI,
      code === undefined ? "" : <Tone word={String(code)} tone={code < 400 ? "good" : "bad"} />,
      decision === "forbid" ? <Tone word="forbid" tone="bad" /> : decision,
      event.sourceIPs?.[0] ?? "",
    ],
  };
}
