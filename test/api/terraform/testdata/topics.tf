terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" { type = string }

provider "aws" {
  region                      = "us-east-1"
  access_key                  = "terraform"
  secret_key                  = "terraform"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
  endpoints {
    sns = var.endpoint
    sqs = var.endpoint
  }
}

resource "aws_sqs_queue" "orders" {
  name       = "orders.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "undeliverable" {
  name       = "undeliverable.fifo"
  fifo_queue = true
}

resource "aws_sqs_queue" "audit" {
  name = "audit"
}

resource "aws_sns_topic" "orders" {
  name                        = "orders.fifo"
  display_name                = "Orders"
  fifo_topic                  = true
  content_based_deduplication = true
  fifo_throughput_scope       = "MessageGroup"
  tags                        = { team = "payments", stage = "test" }
}

resource "aws_sns_topic" "plain" {
  name              = "plain"
  signature_version = 2
  tracing_config    = "Active"
  delivery_policy = jsonencode({
    http = {
      defaultHealthyRetryPolicy = {
        minDelayTarget = 20, maxDelayTarget = 20, numRetries = 3, numMaxDelayRetries = 0,
        numNoDelayRetries = 0, numMinDelayRetries = 0, backoffFunction = "linear"
      }
      disableSubscriptionOverrides = false
    }
  })
}

resource "aws_sns_topic_policy" "orders" {
  arn = aws_sns_topic.orders.arn
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "publish"
      Effect    = "Allow"
      Principal = { AWS = "*" }
      Action    = "SNS:Publish"
      Resource  = aws_sns_topic.orders.arn
    }]
  })
}

resource "aws_sns_topic_subscription" "orders" {
  topic_arn            = aws_sns_topic.orders.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.orders.arn
  raw_message_delivery = true
  filter_policy_scope  = "MessageAttributes"
  filter_policy        = jsonencode({ kind = ["new", { prefix = "re" }], total = [{ numeric = [">=", 10] }] })
  redrive_policy       = jsonencode({ deadLetterTargetArn = aws_sqs_queue.undeliverable.arn })
}

resource "aws_sns_topic_subscription" "audit" {
  topic_arn = aws_sns_topic.orders.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.audit.arn
}

resource "aws_sns_topic_subscription" "plain" {
  topic_arn = aws_sns_topic.plain.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.audit.arn
}
