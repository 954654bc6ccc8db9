{{- define "seriatim.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "seriatim.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the nodes. They never change. */}}
{{- define "seriatim.selector" -}}
app.kubernetes.io/name: seriatim
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node
{{- end -}}

{{- define "seriatim.labels" -}}
app.kubernetes.io/name: seriatim
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Security contexts without unnecessary permissions. */}}
{{- define "seriatim.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}
{{- define "seriatim.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "seriatim.admins" -}}
{{- $name := include "seriatim.name" . -}}
{{- range $i := until (int .Values.replicas) -}}
{{- if $i }},{{ end }}{{ if $.Values.tls.admin }}https{{ else }}http{{ end }}://{{ $name }}-{{ $i }}.{{ $name }}-nodes:9325
{{- end -}}
{{- end -}}

{{/* Names under which nodes and the service for clients are reached. */}}
{{- define "seriatim.hosts" -}}
{{- $name := include "seriatim.name" . -}}
{{- $ns := .Release.Namespace -}}
{{- $domain := .Values.clusterDomain -}}
{{- $hosts := list -}}
{{- range $service := list (printf "*.%s-nodes" $name) $name -}}
{{- $hosts = concat $hosts (list $service (printf "%s.%s" $service $ns) (printf "%s.%s.svc" $service $ns) (printf "%s.%s.svc.%s" $service $ns $domain)) -}}
{{- end -}}
{{- concat $hosts .Values.tls.hosts | toJson -}}
{{- end -}}

{{- define "seriatim.families" -}}
{{- with .Values.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.ipFamilies }}
ipFamilies: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Flags of commands that call the admin port from within the cluster. */}}
{{- define "seriatim.asOperator" -}}
- --admin
- {{ include "seriatim.admins" . | quote }}
- --admin-token-file
- /etc/seriatim-admin/backup.token
{{- if .Values.tls.admin }}
- --ca-file
- /etc/seriatim-nodes/ca.crt
{{- end }}
{{- end -}}
{{- define "seriatim.operatorMounts" -}}
- {name: nodes, mountPath: /etc/seriatim-nodes, readOnly: true}
- {name: admin, mountPath: /etc/seriatim-admin, readOnly: true}
{{- end -}}
{{- define "seriatim.operatorVolumes" -}}
- name: nodes
  secret:
    secretName: {{ include "seriatim.name" . }}-nodes
    defaultMode: 288 # 0440
    items: [{key: ca.crt, path: ca.crt}]
- name: admin
  secret:
    secretName: {{ include "seriatim.name" . }}-admin
    defaultMode: 288 # 0440
    items: [{key: backup.token, path: backup.token}]
{{- end -}}
