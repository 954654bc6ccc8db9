# Queues and a topic of a cluster, with Terraform's AWS provider. Give an access key of the cluster in
# TF_VAR_access_key and TF_VAR_secret_key, not in a file:
#   terraform -chdir=deploy/terraform init
#   terraform -chdir=deploy/terraform apply -var endpoint=http://127.0.0.1:9324
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" {
  description = "Client port of the cluster, with its scheme."
  type        = string
  default     = "http://127.0.0.1:9324"
}

variable "access_key" {
  description = "Id of an access key of the cluster."
  type        = string
  default     = "dev"
}

variable "secret_key" {
  description = "Secret of the access key."
  type        = string
  sensitive   = true
  default     = "dev"
}

# Without these settings the provider would call AWS.
provider "aws" {
  region                      = "us-east-1"
  access_key                  = var.access_key
  secret_key                  = var.secret_key
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
  endpoints {
    sns = var.endpoint
    sqs = var.endpoint
  }
}

# A message that was received five times and not deleted goes to the second queue.
resource "aws_sqs_queue" "payments" {
  name                        = "payments.fifo"
  fifo_queue                  = true
  content_based_deduplication = true
  deduplication_scope         = "messageGroup"
  fifo_throughput_limit       = "perMessageGroupId"
  visibility_timeout_seconds  = 60
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.failed.arn
    maxReceiveCount     = 5
  })
  tags = { team = "payments", stage = "example" }
}

resource "aws_sqs_queue" "failed" {
  name                      = "payments-failed.fifo"
  fifo_queue                = true
  message_retention_seconds = 1209600
  tags                      = { team = "payments", stage = "example" }
}

resource "aws_sqs_queue_redrive_allow_policy" "failed" {
  queue_url = aws_sqs_queue.failed.id
  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.payments.arn]
  })
}

# Permits another caller to send. The account itself always may.
resource "aws_sqs_queue_policy" "payments" {
  queue_url = aws_sqs_queue.payments.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "shops-send"
      Effect    = "Allow"
      Principal = { AWS = "arn:aws:iam::000000000000:user/shop" }
      Action    = "sqs:SendMessage"
      Resource  = aws_sqs_queue.payments.arn
    }]
  })
}

resource "aws_sns_topic" "payments" {
  name                        = "payments.fifo"
  fifo_topic                  = true
  content_based_deduplication = true
  tags                        = { team = "payments", stage = "example" }
}

resource "aws_sns_topic_subscription" "payments" {
  topic_arn            = aws_sns_topic.payments.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.payments.arn
  raw_message_delivery = true
}
