/** Goal: a Service is where the Pods are that it selects, whatever kind made them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { eventually } from "./fixture.ts";
import {
  countReady,
  endpointSlices,
  namespace,
  services,
  TrafficFixture,
  total,
} from "./traffic-fixture.ts";
import { kinds } from "./workload-fixture.ts";

const { pods, jobs } = kinds;
const both = ["us-east1", "us-west1"];

describe("a Service", () => {
  it("is where a bare Pod is that it selects, or the Pods of a Job", async (t) => {
    const stage = await TrafficFixture.start(t, both);
    for (const name of both) await stage.join(name);
    const { client } = stage.plane;
    const spec = {
      containers: [{ name: "main", image: "nginx:1.27", ports: [{ containerPort: 80 }] }],
    };
    const labelled = (app: string) => ({ name: app, namespace, labels: { app } });
    await eventually(() => client.resource(pods).list({ namespace }));
    await eventually(() => client.resource(jobs).list({ namespace }));
    await client.resource(pods).create({ metadata: labelled("bare"), spec } as never);
    const template = {
      metadata: { labels: { app: "sum" }, annotations: { "sim.kcp.io/exit-after": "1h" } },
      spec: { ...spec, restartPolicy: "Never" },
    };
    await client
      .resource(jobs)
      .create({ metadata: { name: "sum", namespace }, spec: { template } } as never);
    for (const app of ["bare", "sum"]) {
      const ports = [{ name: "http", port: 80 }];
      const selector = { app };
      await client
        .resource(services)
        .create({ metadata: { name: app, namespace }, spec: { selector, ports } });
      await eventually(async () => {
        const found = await Promise.all(
          both.map(async (name) => {
            const { items } = await stage.physical(name).client.resource(services).list();
            return items.filter(({ metadata }) => metadata.name === app).length;
          }),
        );
        assert.equal(found[0] === 1 || found[1] === 1, true, `${app}: ${found}`);
        const { items } = await client
          .resource(endpointSlices)
          .list({ namespace, labelSelector: `kubernetes.io/service-name=${app}` });
        assert.equal(total(countReady(items)), 1);
      });
    }
  });
});
