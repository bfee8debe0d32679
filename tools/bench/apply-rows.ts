/**
 * A server-side apply beside an update of the same object, one at a time: what finding out who owns
 * which field costs.
 *
 * Every request changes the object, so that each is a write: the load generators send the same body
 * again and again, which changes nothing.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { compare } from "./compare.ts";
import { type Bench, benchNamespace, type Contest } from "./contest.ts";
import type { Contender } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";

const path = `${configMapsPath(benchNamespace)}/applied`;

/** Its time is at most that of three updates. */
const updatesMax = 3;

export async function applyRows({ options, report }: Bench, contest: Contest): Promise<void> {
  const { client, pid } = contest.kcp;
  const count = options.sizes.singleCreates;
  let changes = 0;
  const body = () => configMap("applied").replace('"value"', `"value-${changes++}"`);
  const contender = (name: string, write: () => Promise<unknown>): Contender => ({
    name,
    pid,
    round: async () => {
      const start = systemClock.monotonic();
      for (let done = 0; done < count; done++) await write();
      return { perSecond: (count * 1000) / (systemClock.monotonic() - start), count };
    },
  });
  await client.must("POST", configMapsPath(benchNamespace), body());
  const applied = `${path}?fieldManager=bench&force=true`;
  const measured = await contest.measure([
    contender("kcp", () => client.must("PATCH", applied, body(), "application/apply-patch+yaml")),
    contender("update", () => client.must("PUT", path, body())),
  ]);
  const wanted = { update: { what: "ratio", atMost: updatesMax } } as const;
  compare(report, { work: "durable apply, 1 in flight", unit: "µs", measured, servers: 1, wanted });
}
