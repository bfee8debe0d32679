/**
 * The demo of how APIs are negotiated, N1 to N12 of 2021, with our names. What differs from it, and
 * why:
 *
 * - The field that comes and goes is `hostnameOverride`, which clusters of 1.28 do not have; it was
 *   `ephemeralContainers`, and 1.15.
 * - N2: a cluster is Ready when it answers and its APIs were read, published or not; in 2021 the
 *   columns stayed empty.
 * - N3, N4: conditions are False, with a reason, where they were empty.
 * - N6: an import that cannot take part says Available=True, because the API is served here; what
 *   is Compatible and Available is synced. It names the fields as one writes them
 *   (.spec.template.spec), and the command that lets it narrow what is published; N7 is that
 *   command.
 */
import { definitionOfKind, object, string } from "@kcp-ts/machinery/schema";

const conditionOf = (object: string, type: string) =>
  `kubectl get ${object} -o 'jsonpath={.status.conditions[?(@.type=="${type}")].message}'`;

const narrow = `kubectl patch apiresourceimport deployments.us-west1.v1.apps --type=merge -p '{"spec":{"schemaUpdateStrategy":"UpdatePublished"}}'`;

export const negotiationScenario = `
N1  no Deployments are served
$ kubectl api-resources -o name | grep deployments
!

N2  a cluster is registered
$ kubectl apply -f us-east1.yaml
synctarget.workload.kcp.io/us-east1 created
~ kubectl get clusters -o wide
NAME LOCATION READY STATUS REASON VERSION MODE SYNCED API RESOURCES AGE
us-east1 us-east1 True Ready ClusterReady v1.* Push [] *

N3  what it serves is imported
~ kubectl get apiresourceimports
NAME LOCATION SCHEMA UPDATE STRATEGY API VERSION API RESOURCE COMPATIBLE AVAILABLE
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments True False

N4  what was imported is negotiated, and not published
~ kubectl get negotiatedapiresources
NAME PUBLISH API VERSION API RESOURCE PUBLISHED ENFORCED
deployments.v1.apps false apps/v1 deployments False False
$ kubectl api-resources -o name | grep deployments
!
$ kubectl get crds 2>&1
No resources found

N5  it is published when somebody says so
$ kubectl patch negotiatedapiresource deployments.v1.apps --type=merge -p '{"spec":{"publish":true}}'
negotiatedapiresource.apiresource.kcp.io/deployments.v1.apps patched
~ kubectl get negotiatedapiresources --no-headers
deployments.v1.apps true apps/v1 deployments True False
$ kubectl get crd deployments.apps -o name
customresourcedefinition.apiextensions.k8s.io/deployments.apps
~ kubectl api-resources --no-headers --api-group=apps
deployments deploy apps/v1 true Deployment
$ kubectl get crd deployments.apps -o yaml | grep hostnameOverride
hostnameOverride:
~ kubectl get apiresourceimports --no-headers
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments True True
~ kubectl get clusters --no-headers -o wide
us-east1 us-east1 True Ready ClusterReady v1.* Push ["deployments.apps"] *

N6  an older cluster cannot take part, and is told why
$ kubectl apply -f us-west1.yaml
synctarget.workload.kcp.io/us-west1 created
~ kubectl get apiresourceimports --no-headers
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments True True
deployments.us-west1.v1.apps us-west1 UpdateUnpublished apps/v1 deployments False True
$ ${conditionOf("apiresourceimport deployments.us-west1.v1.apps", "Compatible")}
us-west1 does not accept what the others do (.spec.template.spec.*: the field is not known any more; * and * more); to narrow what is published: ${narrow}
$ kubectl get crd deployments.apps -o yaml | grep hostnameOverride
hostnameOverride:

N7  what is published is narrowed for it when somebody says so
$ ${narrow}
apiresourceimport.apiresource.kcp.io/deployments.us-west1.v1.apps patched
~ kubectl get apiresourceimports --no-headers
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments True True
deployments.us-west1.v1.apps us-west1 UpdatePublished apps/v1 deployments True True
~ kubectl get negotiatedapiresource deployments.v1.apps -o yaml | grep '  hostnameOverride:'
!
~ kubectl get crd deployments.apps -o yaml | grep hostnameOverride
!
~ ${conditionOf("negotiatedapiresource deployments.v1.apps", "Narrowed")}
for the sake of us-west1 (.spec.template.spec.*: the field is not known any more; *)

N8  with the older cluster go its limits
$ kubectl delete cluster us-west1 --timeout=100s
synctarget.workload.kcp.io "us-west1" deleted*
~ kubectl get apiresourceimports --no-headers
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments True True
~ kubectl get negotiatedapiresource deployments.v1.apps -o yaml | grep hostnameOverride
hostnameOverride:
~ kubectl get crd deployments.apps -o yaml | grep hostnameOverride
hostnameOverride:

N9  with the last cluster goes the API
$ kubectl delete cluster us-east1 --timeout=100s
synctarget.workload.kcp.io "us-east1" deleted*
~ kubectl get crds,apiresourceimports,negotiatedapiresources 2>&1
No resources found
~ kubectl api-resources -o name | grep deployments
!

N10  a definition that was made by hand rules
$ kubectl apply -f by-hand.yaml
customresourcedefinition.apiextensions.k8s.io/deployments.apps created
$ kubectl apply -f us-west1.yaml
synctarget.workload.kcp.io/us-west1 created
~ kubectl get apiresourceimports --no-headers
deployments.us-west1.v1.apps us-west1 UpdateUnpublished apps/v1 deployments False True
~ kubectl get negotiatedapiresources --no-headers
deployments.v1.apps true apps/v1 deployments True True
$ ${conditionOf("apiresourceimport deployments.us-west1.v1.apps", "Compatible")}
us-west1 does not accept what the others do (.spec: no field is known on both sides; *); the definition was made by hand: change it there

N11  no import changes it
$ ${narrow}
apiresourceimport.apiresource.kcp.io/deployments.us-west1.v1.apps patched

N12  nor does another cluster
$ kubectl apply -f us-east1.yaml
synctarget.workload.kcp.io/us-east1 created
~ kubectl get apiresourceimports --no-headers
deployments.us-east1.v1.apps us-east1 UpdateUnpublished apps/v1 deployments False True
deployments.us-west1.v1.apps us-west1 UpdatePublished apps/v1 deployments False True
$ kubectl get negotiatedapiresources --no-headers
deployments.v1.apps true apps/v1 deployments True True
$ kubectl get crd deployments.apps -o 'jsonpath={.metadata.generation} {..openAPIV3Schema.properties.spec.properties}'
1 {"mine":{"type":"string"}}
`;

export const manualDefinition = definitionOfKind({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  resource: "deployments",
  isNamespaced: true,
  hasStatus: true,
  schema: object({ spec: object({ mine: string() }) }),
});
