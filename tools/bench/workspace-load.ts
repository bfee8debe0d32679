/** Workspaces that come and go: where they are, and several writers who make and delete them. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { ApiClient } from "./api-client.ts";

export const writersAtOnce = 16;
export const workspacesPath = "/apis/tenancy.kcp.io/v1alpha1/workspaces";
const childrenPerParent = 7;

export type WorkspaceAddress = readonly [parent: string, name: string];

export function flat(count: number, prefix: string): WorkspaceAddress[] {
  return Array.from({ length: count }, (_, at) => ["root", `${prefix}-${at}`]);
}

/** Seven below each, as far down as it takes; parents first. */
export function tree(count: number): WorkspaceAddress[] {
  const places: WorkspaceAddress[] = [["root", "tree"]];
  for (let at = 0; places.length < count; at++) {
    const [parent, name] = places[at] as WorkspaceAddress;
    for (let child = 0; child < childrenPerParent && places.length < count; child++)
      places.push([`${parent}:${name}`, `c${child}`]);
  }
  return places;
}

/**
 * A workspace is Ready when its create is answered, or the answer says otherwise and the figure is
 * worth nothing.
 */
export async function makeAll(
  client: ApiClient,
  places: readonly WorkspaceAddress[],
): Promise<void> {
  await eachOf(places, async ([parent, name]) => {
    const body = JSON.stringify({
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "Workspace",
      metadata: { name },
      spec: { type: { name: "universal", path: "root" } },
    });
    const path = `/clusters/${parent}${workspacesPath}`;
    for (let tries = 0; ; tries++) {
      const answer = await client.request("POST", path, body);
      const text = answer.body.toString("utf8");
      if (answer.status < 300 && text.includes('"phase":"Ready"')) return;
      // Others write the parents, and have not come to this one's yet.
      if (answer.status < 300 || tries > 1000)
        throw new Error(`${path}: ${answer.status} ${text.slice(0, 300)}`);
      await sleep(systemClock, 5);
    }
  });
}

export async function deleteTops(
  client: ApiClient,
  places: readonly WorkspaceAddress[],
): Promise<void> {
  const base = `/clusters/root${workspacesPath}`;
  const tops = places.filter(([parent]) => parent === "root");
  await eachOf(tops, async ([, name]) => {
    await client.must("DELETE", `${base}/${name}`);
  });
  for (;;) {
    const { items } = JSON.parse(
      (await client.must("GET", `${base}?limit=1`)).toString("utf8"),
    ) as { items: unknown[] };
    if (items.length === 0) return;
    await sleep(systemClock, 20);
  }
}

export async function comeAndGo(
  client: ApiClient,
  places: readonly WorkspaceAddress[],
): Promise<void> {
  await makeAll(client, places);
  await deleteTops(client, places);
}

async function eachOf(
  places: readonly WorkspaceAddress[],
  body: (place: WorkspaceAddress) => Promise<void>,
) {
  let next = 0;
  const work = async () => {
    for (let place = places[next++]; place !== undefined; place = places[next++]) await body(place);
  };
  await Promise.all(Array.from({ length: writersAtOnce }, work));
}
