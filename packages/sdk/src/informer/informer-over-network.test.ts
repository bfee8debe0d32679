/**
 * Goal: an informer over real TLS sockets, HTTP/2 and HTTP/1.1, survives its server being killed
 * and started again. Method: the fake server behind real listeners; time is fake, so that back-off
 * takes none.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject, type Method } from "../client/index.ts";
import {
  type Certificates,
  FakeApiServer,
  type Handler,
  makeCertificates,
  startHttp1Server,
  startHttp2Server,
} from "../fake-server/index.ts";
import { NodeTransport } from "../transport/index.ts";
import { Informer } from "./informer.ts";

const resource = "example.io/v1/things";
const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});

let certificates: Certificates;
before(() => {
  certificates = makeCertificates();
});

/** Serves a fake server over the network. */
function overNetwork(server: FakeApiServer): Handler {
  const transport = server.transport();
  return (request, response) => {
    const gone = new AbortController();
    response.on("close", () => gone.abort(new Error("the client has left")));
    const relay = async () => {
      const { status, headers, body } = await transport.send({
        method: request.method as Method,
        path: request.url,
        headers: {},
        signal: gone.signal,
      });
      response.writeHead(status, headers as Record<string, string>);
      // HTTP/1.1 keeps the head back until there is a body, which on a quiet watch may take long.
      if ("flushHeaders" in response) (response.flushHeaders as () => void)();
      for await (const chunk of body) response.write(chunk);
      response.end();
    };
    relay().catch((error) => {
      if (!gone.signal.aborted) throw error;
    });
  };
}

for (const [name, start] of [
  ["HTTP/2", startHttp2Server],
  ["HTTP/1.1", startHttp1Server],
] as const) {
  describe(`an informer over ${name}`, () => {
    const cleanUps: (() => Promise<void>)[] = [];
    after(async () => {
      for (const cleanUp of cleanUps) await cleanUp();
    });

    it("resumes when its server is killed and comes back", async () => {
      const clock = new FakeClock();
      const server = new FakeApiServer({ clock });
      let listener = await start(certificates, overNetwork(server));
      const { ca } = certificates;
      const transport = new NodeTransport({ url: listener.url, tls: () => ({ ca }) });
      const informer = new Informer({
        client: new Client({ transport, clock }),
        resource: things,
        scope: { cluster: "root" as ClusterName },
      });
      const stop = new AbortController();
      const done = informer.run(stop.signal);
      cleanUps.push(async () => {
        stop.abort();
        await done;
        await transport.close();
        await listener.close();
      });
      const names = () => informer.store.list().map(({ metadata }) => metadata.name);
      const until = async (expected: string) => {
        for (let i = 0; i < 2000 && names().sort().join() !== expected; i++) {
          await clock.advanceAndFlush(50);
        }
        assert.equal(names().sort().join(), expected);
      };
      const put = (one: string) => server.put({ resource, namespace: "default", name: one });
      put("a");
      await until("a");
      put("b");
      await until("a,b");
      for (const one of ["c", "d", "e"]) {
        await listener.close();
        put(one);
        if (one === "e") server.store.compact();
        listener = await start(certificates, overNetwork(server), listener.port);
        await until(names().concat(one).sort().join());
      }
      assert.equal(names().sort().join(), "a,b,c,d,e");
    });
  });
}
