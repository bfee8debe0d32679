/**
 * A conversion webhook: v1 of a kind has `size`, v2 has `width`, and every object is served in
 * both. The server calls the webhook over HTTPS.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { issueServingMaterial } from "kcp-ts/apiserver";
import { customResourceDefinitions } from "kcp-ts/kinds";
import { defineResource, type KubernetesObject } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

interface Box extends KubernetesObject {
  readonly spec: { readonly size?: number; readonly width?: number };
}
interface Review {
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly Box[];
  };
}

function convert(box: Box, apiVersion: string): Box {
  const length = box.spec.size ?? box.spec.width ?? 0;
  const spec = apiVersion.endsWith("/v1") ? { size: length } : { width: length };
  return { ...box, apiVersion, spec };
}

// In a cluster, a Service and a certificate of cert-manager.
const { caPem, certificatePem, privateKeyPem } = issueServingMaterial("boxes", "localhost");
const tls = { cert: certificatePem, key: privateKeyPem };
const webhook = createServer(tls, (request, response) => {
  answer(request, response).catch((error) => response.destroy(error));
});
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { uid, desiredAPIVersion, objects } = (JSON.parse(await text(request)) as Review).request;
  const convertedObjects = objects.map((box) => convert(box, desiredAPIVersion));
  const result = { status: "Success" };
  const kind = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
  response.end(JSON.stringify({ ...kind, response: { uid, result, convertedObjects } }));
}
webhook.listen(0, "localhost");
await once(webhook, "listening");
const url = `https://localhost:${(webhook.address() as AddressInfo).port}/convert`;

const group = "example.com";
const version = (name: string, field: string, storage: boolean) => {
  const spec = { type: "object", properties: { [field]: { type: "integer" } } };
  const openAPIV3Schema = { type: "object", properties: { spec } };
  return { name, served: true, storage, schema: { openAPIV3Schema } };
};
const k = await startTestControlPlane();
await k.client
  .resource(customResourceDefinitions)
  .create({
    metadata: { name: `boxes.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "boxes", kind: "Box" },
      versions: [version("v1", "size", true), version("v2", "width", false)],
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: ["v1"], clientConfig: { url, caBundle: btoa(caPem) } },
      },
    },
  });

const names = { group, resource: "boxes", kind: "Box", namespaced: true };
const [v1, v2] = [
  defineResource<Box>({ ...names, version: "v1" }),
  defineResource<Box>({ ...names, version: "v2" }),
];
const metadata = { name: "a", namespace: "default" };
await eventually(() => k.client.resource(v1).create({ metadata, spec: { size: 3 } }));
console.log(`width ${(await k.client.resource(v2).get(metadata)).spec.width}`);
webhook.closeAllConnections();
webhook.close();
await k.close();
