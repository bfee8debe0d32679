/** Lists: all of a large collection, a page of it, and a search that finds nothing. */
import { ApiClient } from "./api-client.ts";
import { compare } from "./compare.ts";
import { type Bench, benchNamespace, type Contest, type Shape } from "./contest.ts";
import { configMap, configMapsPath, namespace } from "./objects.ts";

const listNamespace = `${benchNamespace}-list`;
const path = configMapsPath(listNamespace);

export async function listRows(bench: Bench, contest: Contest): Promise<void> {
  const { listItems, lists, pages, pageItems } = bench.options.sizes;
  await fill(bench, contest);
  const one = { connections: 1, streams: 1 };
  await row(bench, contest, {
    work: `list of ${listItems} x 1 KB, 1 in flight`,
    name: "list",
    path,
    shape: { ...one, requests: lists },
    wanted: { what: "ratio", atMost: 2.5 },
  });
  await row(bench, contest, {
    work: `list, page of ${pageItems}, 1 in flight`,
    name: "page",
    path: `${path}?limit=${pageItems}`,
    shape: { ...one, requests: pages },
  });
  await unmatchedRow(bench, contest);
}

async function row(
  { report }: Bench,
  contest: Contest,
  list: {
    readonly work: string;
    readonly name: string;
    readonly path: string;
    readonly shape: Shape;
    readonly wanted?: { readonly what: "ratio"; readonly atMost: number };
  },
): Promise<void> {
  const { listUrl, token } = contest.kcp;
  const client = new ApiClient({ url: listUrl, token });
  await contest.giveBare(list.name, list.path, client);
  client.close();
  const measured = await contest.measure([
    ...contest.lists(list.path, list.shape),
    contest.bareRequests("same bytes, bare HTTP/2", `/${list.name}`, list.shape),
  ]);
  compare(report, {
    work: list.work,
    unit: "ms",
    measured,
    servers: contest.contestants.length,
    ...(list.wanted === undefined ? {} : { wanted: { "same bytes, bare HTTP/2": list.wanted } }),
  });
}

/** The processor time counts: what one tenant's search takes from everybody else. */
async function unmatchedRow({ options, report }: Bench, contest: Contest): Promise<void> {
  const { listItems, pages } = options.sizes;
  const shape = { connections: 1, streams: 1, requests: pages };
  const measured = await contest.measure(contest.lists(`${path}?labelSelector=half%3Db`, shape));
  const work = `list of ${listItems} by label, none match`;
  compare(report, { work, unit: "ms", measured, servers: contest.contestants.length });
  report.add({
    work: `${work}: CPU`,
    server: "kcp",
    figure: (measured[0]?.cpuMicros ?? Number.NaN) / 1000,
    unit: "ms",
    wanted: { what: "figure", atMost: 5 },
  });
}

async function fill({ options, generate }: Bench, contest: Contest): Promise<void> {
  for (const { listUrl, token } of contest.contestants) {
    const client = new ApiClient({ url: listUrl, token });
    await client.must("POST", "/api/v1/namespaces", namespace(listNamespace));
    client.close();
    await generate({
      url: listUrl + path,
      token,
      body: configMap(),
      requests: options.sizes.listItems,
      connections: 4,
      streams: 16,
    });
  }
}
