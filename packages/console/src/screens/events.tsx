/** Events about an object, the newest first. */
import { events } from "@kcp-ts/sdk/kinds";
import { useState } from "preact/hooks";
import { ageText, LongText, Part, Tone } from "../elements/index.ts";
import { now, useLiveObjects } from "../live/index.ts";
import { useSession } from "../session/index.ts";
import type { ObjectProps } from "./object.tsx";

interface EventObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly metadata: { readonly name: string; readonly creationTimestamp?: string };
}

const shownFirst = 50;

export function Events({ cluster, object }: Pick<ObjectProps, "cluster" | "object">) {
  const { uid, namespace } = object.metadata;
  const live = useLiveObjects(useSession().clientIn(cluster), events, {
    namespace: namespace ?? "default",
    fieldSelector: `involvedObject.uid=${uid}`,
  });
  const found = ((live?.objects ?? []) as unknown as readonly EventObject[])
    .map((event) => ({ event, at: timeOf(event) }))
    .sort((a, b) => (a.at < b.at ? 1 : -1));
  return (
    <section class="block" aria-labelledby="events">
      <h2 id="events">Events</h2>
      <Part of={live} what="Events">
        {found.length === 0 ? (
          <p class="quiet">None in the last hour.</p>
        ) : (
          <EventTable of={found} />
        )}
      </Part>
    </section>
  );
}

interface EventAt {
  readonly event: EventObject;
  readonly at: string;
}

function EventTable({ of }: { readonly of: readonly EventAt[] }) {
  const [shownMax, setShownMax] = useState(shownFirst);
  return (
    <>
      <table class="small">
        <thead>
          <tr>
            <th scope="col">Age</th>
            <th scope="col">Type</th>
            <th scope="col">Reason</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          {of.slice(0, shownMax).map(({ event, at }) => (
            <tr key={event.metadata.name}>
              <td>{`${ageText(at, now.value)}${(event.count ?? 1) > 1 ? ` ×${event.count}` : ""}`}</td>
              <td>
                <Tone word={event.type ?? ""} />
              </td>
              <td>{event.reason}</td>
              <td class="wide">
                <LongText text={event.message ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {of.length > shownMax ? (
        <p>
          {`The newest ${shownMax} of ${of.length}. `}
          <button type="button" onClick={() => setShownMax(of.length)}>
            Show all
          </button>
        </p>
      ) : null}
    </>
  );
}

function timeOf({ lastTimestamp, eventTime, metadata }: EventObject): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? "";
}
